package dashboard

import (
	"testing"
	"time"
)

func TestTimeline_ShowsALeaderOfYears(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	v := &view{Now: now, Leader: &leader{Term: 7}, Terms: []term{{Term: 7, Since: now.AddDate(-3, 0, 0)}}}
	v.lastTerms()
	if terms := newTimeline(v).Terms; len(terms) != 1 || terms[0].X != 0 || terms[0].W != width {
		t.Errorf("%+v, want one from 0 to %d", terms, width)
	}
}
