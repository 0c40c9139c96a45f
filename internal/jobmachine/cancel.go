package jobmachine

import (
	"slices"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// cancelRuns ends the runs whose first attempt had begun when somebody asked for that. A run of this leader ends when it returns. One
// that waits for a further attempt, and one of an earlier leader, has ended.
func (d *draft) cancelRuns() {
	for _, r := range d.m.requests {
		if r.Verb == jobstore.ToCancel && !d.state.Has(r) {
			d.cancel(r)
		}
	}
}

func (d *draft) cancel(r jobstore.Request) {
	d.canceled = r
	for _, run := range d.m.runs {
		if !run.began.After(r.At()) {
			d.cancels = append(d.cancels, run.id)
		}
	}
	for _, o := range slices.Clone(d.state.Open) {
		switch {
		case o.Began.After(r.At()), !o.Canceled.IsZero():
		case d.m.isOurs(o.ID): // under way, or returned: its end says what became of it
			at := slices.Index(d.state.Open, o)
			d.state.Open[at].Canceled = r.At()
		default:
			d.close(o.ID)
			d.end(o.Record(jobstore.StateCanceled, "canceled by "+r.Who(), d.due.Now))
		}
	}
	d.apply(r)
}
