package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"go.uber.org/zap"
)

// Option changes what a page can do.
type Option func(*page)

// AllowActions lets users pause, resume and trigger jobs. authorize returns the user who sends a request, or an error
// whose text tells the user why they may not act. who must be an identity that the service has verified, of 1 to 200
// bytes without control characters. It is logged, and stored with the job for everybody to see. Return the user of a
// session, a client certificate or a checked token. The user name of basic authentication is verified only if
// something has checked the password. An empty who refuses the request.
//
// authorize is called for each action. It is also called when a page or its stream of events is opened, because only
// users who may act see the buttons. So it must decide by the request's headers, its address or its context, and not
// by the method or the form. Users who lose the right may see the buttons for up to another minute, but their actions
// are refused.
//
// Without this option every action is refused.
func AllowActions(authorize func(*http.Request) (who string, err error)) Option {
	return func(p *page) { p.authorize = authorize }
}

// Hosts limits the page to requests whose Host is one of hosts; all others are answered with 421. So list every name
// by which users reach the page. A host without a port matches every port.
//
// Behind a proxy that replaces Host, list the Host that the proxy sends. Over plain http, also list the host in the
// address bar, with its port unless that is the default. Otherwise every action is refused as one of another site.
//
// Without this option, or without hosts, every Host is accepted. Then another site can read the page by pointing its
// own name at this server (DNS rebinding), because the browser takes the two for the same site. It can also act if
// authorize decides by the address.
func Hosts(hosts ...string) Option {
	return func(p *page) { p.hosts = hosts }
}

// WithLogger sets the logger for actions, including those that were refused. Without one, refused actions leave no
// trace, and the others appear only in the scheduler's log and in the newest changes of a job.
func WithLogger(log *zap.Logger) Option {
	return func(p *page) {
		if log != nil {
			p.log = log
		}
	}
}

// jobLink is a link of each job to another page.
type jobLink struct{ Label, pattern string }

// JobLink adds a link to each job, for example to its logs or to a runbook. In pattern, {job} stands for the name of
// the job, escaped. The option may be given several times. It panics if pattern is no URL of a web page:
//
//	dashboard.JobLink("logs", "https://logs.example.com/search?q={job}")
func JobLink(label, pattern string) Option {
	u, err := url.Parse(strings.ReplaceAll(pattern, "{job}", "job"))
	if err != nil || label == "" || u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https" {
		panic(fmt.Sprintf("dashboard: the link %q to %q needs a label, and the URL of a web page", label, pattern))
	}
	return func(p *page) { p.links = append(p.links, jobLink{label, pattern}) }
}

// To returns the address for a job.
func (l jobLink) To(job string) string {
	escaped := strings.ReplaceAll(url.QueryEscape(job), "+", "%20") // right in a path and in a query
	return strings.ReplaceAll(l.pattern, "{job}", escaped)
}

// Until ends the streams of open pages when ctx is done. The server's Shutdown waits for them, so end ctx before you
// call it. Otherwise each stream lasts up to a minute, and its page then opens the next one.
func Until(ctx context.Context) Option {
	return func(p *page) { p.open = ctx }
}
