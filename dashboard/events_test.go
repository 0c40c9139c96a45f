package dashboard_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/dashboard"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

func TestEvents_ShowANewLeader(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		events, _ := s.listen("/events")
		time.Sleep(6 * time.Second)
		if err := s.leader.Stop(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Second)
		events.mu.Lock()
		defer events.mu.Unlock()
		first, last := events.events[0], events.events[len(events.events)-1]
		want.Parts(t, "the first event", first, `<span class="name">`+s.leader.Elector.Identity())
		want.Parts(t, "the last event", last, `<span class="name">`+s.follower.Elector.Identity(), "leading")
		for _, event := range events.events {
			if !strings.HasSuffix(event, "\n\n") || strings.Contains(strings.TrimSuffix(event, "\n\n"), "\n\n") {
				t.Errorf("an event is not one: %q", event)
			}
		}
	})
}

func TestEvents_EndAfterAMinute(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		began := time.Now()
		events, _ := s.listen("/events")
		<-events.ended
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it ended after %v", took)
		}
	})
}

func TestEvents_EndWithTheServer(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		stopping, stop := context.WithCancel(t.Context())
		s.page = dashboard.Handler(s.follower.Elector, s.follower.Scheduler, dashboard.Until(stopping))
		events, _ := s.listen("/events")
		time.Sleep(7 * time.Second)
		began := time.Now()
		stop()
		<-events.ended
		if took := time.Since(began); took != 0 {
			t.Errorf("it ended %v after the server", took)
		}
	})
}

// A stream ends if its browser no longer reads.
func TestEvents_EndWhereNobodyReads(t *testing.T) {
	serve(t, func(t *testing.T, s *service) {
		events, _ := s.listen("/events")
		time.Sleep(time.Second)
		events.mu.Lock()
		events.broken = errors.New("broken pipe")
		events.mu.Unlock()
		began := time.Now()
		<-events.ended
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it ended %v after the connection broke", took)
		}
	})
}
