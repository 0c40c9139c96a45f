package dashboard_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/dashboard"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

func TestEvents_ShowANewLeader(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		events, _ := s.listen("/events")
		time.Sleep(6 * time.Second)
		s.stop(s.leader)
		time.Sleep(6 * time.Second)
		events.mu.Lock()
		defer events.mu.Unlock()
		first, last := events.events[0], events.events[len(events.events)-1]
		want.Parts(t, "the first event", first, `<span class="name">`+s.leader.Elector.Identity())
		want.Parts(t, "the last event", last, `<span class="name">`+s.follower.Elector.Identity(), "leading")
	})
}

// A stream ends after a minute, with the server, and if its browser no longer reads.
func TestEvents_End(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		start := time.Now()
		whole, _ := s.listen("/events")
		broken, _ := s.listen("/events")
		synctest.Wait() // both are at this page
		stopping, stop := context.WithCancel(t.Context())
		s.page = dashboard.Handler(s.follower.Elector, s.follower.Scheduler, dashboard.Until(stopping))
		stopped, _ := s.listen("/events")
		time.Sleep(7 * time.Second)
		stop()
		<-stopped.ended
		if took := time.Since(start); took != 7*time.Second {
			t.Errorf("the server ended after 7 s, its stream after %v", took)
		}
		broken.mu.Lock()
		broken.broken = errors.New("broken pipe")
		broken.mu.Unlock()
		<-broken.ended
		if took := time.Since(start); took > 12*time.Second {
			t.Errorf("the connection broke after 7 s, the stream ended after %v", took)
		}
		<-whole.ended
		if took := time.Since(start); took != time.Minute {
			t.Errorf("it ended after %v", took)
		}
	})
}

// Each stream may show something else, so their number is limited. A browser whose stream is refused can still read
// the page.
func TestEvents_AreLimited(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		var leave []func()
		for i := range 100 {
			_, left := s.listen(fmt.Sprintf("/events?q=%d", i))
			leave = append(leave, left)
		}
		synctest.Wait()
		w := s.get("/events")
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "10" || !strings.Contains(w.Body.String(), "100 pages") {
			t.Errorf("one more: %d, %v: %.100s", w.Code, w.Header(), w.Body)
		}
		if w := s.get("/"); w.Code != http.StatusOK {
			t.Errorf("the page itself: %d", w.Code)
		}
		leave[7]()
		next, _ := s.listen("/events")
		time.Sleep(time.Second)
		if first := next.first(); !strings.HasPrefix(first, "retry: ") {
			t.Errorf("after another stream has ended, the next begins with %.100q", first)
		}
	})
}
