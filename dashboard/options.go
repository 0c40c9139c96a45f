package dashboard

import (
	"context"
	"net/http"

	"go.uber.org/zap"
)

// Option changes what a page can do.
type Option func(*page)

// AllowActions has the page offer to pause, resume and trigger jobs. authorize is asked at each action: an error
// refuses it, and its text is what the person reads. Without it every action is refused.
func AllowActions(authorize func(*http.Request) error) Option {
	return func(p *page) { p.authorize = authorize }
}

// WithLogger sets where actions are logged, those that were refused as well; nowhere if not set or nil.
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
