package jobmachine

import (
	"slices"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// cancelRuns ends the runs that had begun when somebody asked for that, if no write has done so yet. A run of this leader ends when it
// returns. One that waits for a further attempt, and one of an earlier leader, has ended. To do so twice does no harm, so no state
// needs to have the request.
func (d *draft) cancelRuns() {
	set := d.m.cancel
	if !set.IsNewer(d.cancel) {
		return
	}
	isRunning := make(map[string]bool)
	for _, r := range d.m.runs {
		if isRunning[r.id] = true; !r.start.After(set.At()) {
			d.cancels = append(d.cancels, r.id)
		}
	}
	for _, o := range slices.Clone(d.state.Open) {
		repeats := o.Waits() && o.Deaths > 0 // a run that had begun; its start is that of the next one
		switch {
		case !repeats && o.Start.After(set.At()), !o.Canceled.IsZero():
		case isRunning[o.ID]:
			at := slices.Index(d.state.Open, o)
			d.state.Open[at].Canceled = set.At()
		default:
			d.close(o.ID)
			d.end(o.Record(jobstore.StateCanceled, "canceled by "+set.Who(), d.due.Now))
		}
	}
	d.cancel, d.changed = set, true
	d.applied = append(d.applied, Setting{Setting: set, IsCancel: true})
}
