package dashboard_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/dashboard"
)

// A page repeats its query in each of its rows.
func TestHandler_RefusesWhatIsTooLong(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		const most = 1 << 10 // limit of an answer, in bytes
		for _, c := range []struct{ query, text string }{
			{"only=" + strings.Repeat("x", 900<<10), "the query has"},
			{"only=" + strings.Repeat("x", 1000), "only is"},
			{"q=" + strings.Repeat("x", 201), "q has 201 bytes, at most 200 are allowed"},
			{"name=" + strings.Repeat("x", 201), "201 bytes"},
			{"name=%00", "invisible character"},
			{"page=2", "page is 2, but the last page is 1"},
			{"page=0", "a number from 1"},
			{"period=year", "it must be hour, day or week"},
			{"a=%zz", "cannot parse"},
		} {
			for _, path := range []string{"/", "/job", "/events", "/api"} {
				if strings.HasPrefix(c.query, "page=2") && path != "/" && path != "/api" {
					continue // the page of one job ignores page, and a stream continues if there were more pages
				}
				w := s.get(path + "?" + c.query)
				if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), c.text) || w.Body.Len() > most {
					t.Errorf("%s?%.40s: %d, %d bytes: %.100s", path, c.query, w.Code, w.Body.Len(), w.Body)
				}
			}
		}
		for _, query := range []string{"", "q=" + strings.Repeat("%22", 200), "only=running&page=1", "period=week", "other=x"} {
			if w := s.get("/?" + query); w.Code != http.StatusOK {
				t.Errorf("%s: %d: %s", query, w.Code, w.Body)
			}
		}
	}, dashboard.AllowActions(anybody))
}

// DNS rebinding: if another site points its own name at this server, a browser takes the two for the same site.
func TestHandler_AnswersItsHostsAlone(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		for host, status := range map[string]int{
			"ops.example": http.StatusOK, "OPS.example:8080": http.StatusOK, "[::1]:8080": http.StatusOK, "[::1]": http.StatusOK,
			"fixed.example:443": http.StatusOK, "fixed.example": http.StatusMisdirectedRequest,
			"evil.example": http.StatusMisdirectedRequest, "ops.example.evil.example": http.StatusMisdirectedRequest,
			"": http.StatusMisdirectedRequest,
		} {
			for _, path := range []string{"/", "/api", "/events"} {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
				r.Host = host
				w := httptest.NewRecorder()
				s.page.ServeHTTP(w, r)
				cancel()
				if w.Code != status {
					t.Errorf("%s at %q: %d, want %d", path, host, w.Code, status)
				}
			}
			w := s.post("pause", "good", func(r *http.Request) {
				r.Host = host
				r.Header.Del("Sec-Fetch-Site")
				r.Header.Set("Origin", "http://"+host)
			})
			if is := w.Code == http.StatusSeeOther; is != (status == http.StatusOK) {
				t.Errorf("an action at %q: %d", host, w.Code)
			}
		}
	}, dashboard.AllowActions(anybody), dashboard.Hosts("ops.example", "::1", "fixed.example:443"))
}
