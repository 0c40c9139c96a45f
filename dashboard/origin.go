package dashboard

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"go.uber.org/zap"
)

// ownOrigin passes on requests that a browser sent from this page, and those of programs that are no browser. It
// refuses a request that a page of another site made a browser send, without reading the form.
//
// Browsers say whether a request comes from the page itself, in Sec-Fetch-Site, if the page has https. Over plain http
// only Origin and Host tell, and they differ if a proxy has replaced Host. Then the origin must be one of [Hosts].
func (p *page) ownOrigin(next http.Handler) http.Handler {
	own := http.NewCrossOriginProtection()
	own.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin, site := firstLine(r.Header.Get("Origin")), r.Header.Get("Sec-Fetch-Site")
		_, host, _ := strings.Cut(origin, "://")
		isHost := func(served string) bool { return strings.EqualFold(served, host) }
		if site == "" && host != "" && slices.ContainsFunc(p.hosts, isHost) {
			next.ServeHTTP(w, r)
			return
		}
		err := fmt.Errorf("cross-origin request: it has Origin %.100q and Host %.100q", origin, r.Host)
		if site == "" {
			err = fmt.Errorf("%w: if a proxy has replaced the Host, let it pass the Host on, "+
				"or list both hosts in dashboard.Hosts", err)
		} else {
			err = fmt.Errorf("%w, and the browser says that it is %.20q", err, site)
		}
		p.audit(r, firstLine(strings.TrimPrefix(r.URL.Path, "/")), "", "").Warn("dashboard: an action was refused, or failed",
			zap.Error(err), zap.String("origin", origin))
		http.Error(w, err.Error(), http.StatusForbidden)
	}))
	return own.Handler(next)
}
