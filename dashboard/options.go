package dashboard

import (
	"context"
	"net/http"

	"go.uber.org/zap"
)

// Option changes what a page can do.
type Option func(*page)

// AllowActions has the page offer to pause, resume and trigger jobs. authorize returns who sends a request, or an error that
// says why they may not act; its text is what the person reads. who must be an identity that the service has verified, of
// 1 to 200 bytes without control characters: it is logged, and stored with the job for everybody to see. Return the user of
// a session, a client certificate or a checked token. The user name of basic authentication is one only if something has
// checked the password. An empty who refuses.
//
// authorize is asked at each action, and also when a page or its stream of events is opened, to show the buttons only
// to those who may use them. So it must decide by the request's headers, its address or its context, and neither by the
// method nor by the form. Those who lose the right see the buttons for up to a minute more, and are refused.
//
// Without this option every action is refused.
func AllowActions(authorize func(*http.Request) (who string, err error)) Option {
	return func(p *page) { p.authorize = authorize }
}

// Hosts has the page answer only requests whose Host is one of hosts, and all others with 421. One without a port is for
// every port; behind a proxy that replaces Host, name what the proxy sends. Without it, or with none, every Host is answered.
// Then a page of another site can read this one, and act where authorize goes by the address: it points its own name at
// this server (DNS rebinding), and to the browser the two are the same site. If a name is missing here, those who use
// it see nothing.
func Hosts(hosts ...string) Option {
	return func(p *page) { p.hosts = hosts }
}

// WithLogger sets where actions are logged, those that were refused as well. If not set or nil, they are not: then those
// that were refused leave no trace, and of the others only the scheduler's log and the newest changes of a job tell.
func WithLogger(log *zap.Logger) Option {
	return func(p *page) {
		if log != nil {
			p.log = log
		}
	}
}

// Until ends the streams of open pages when ctx is done, the sooner the better for the server's Shutdown, which waits
// for them: each lasts a minute otherwise, and the page asks for the next one.
func Until(ctx context.Context) Option {
	return func(p *page) { p.open = ctx }
}
