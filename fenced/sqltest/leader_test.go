//go:build unix

package sqltest_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/fenced"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

func TestJob_OfATickThatIsDoneSucceeds(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.fenced()
		job := fenced.Job(db, func(ctx context.Context, tx *sql.Tx, run scheduler.Run) error {
			return d.effect(run.Key())(ctx, tx)
		})
		run := scheduler.Run{Job: "report", Tick: tick, Token: 7, Attempt: 1}
		must(t, job(t.Context(), run))
		run.Token, run.Attempt = 8, 2
		must(t, job(t.Context(), run))
		run.Token, run.Tick = 7, tick.Add(time.Second)
		if err := job(t.Context(), run); !errors.Is(err, fenced.ErrFenced) {
			t.Error(err)
		}
		run.Token, run.Tick, run.Manual = 8, tick, true
		must(t, job(t.Context(), run))
		d.wantEffects(2)
		if err := fenced.Job(db, nil)(t.Context(), run); err == nil {
			t.Error("the function is nil, and no error")
		}
		// What its function has found done is another transaction's.
		err := fenced.Job(db, func(ctx context.Context, tx *sql.Tx, _ scheduler.Run) error {
			must(t, d.effect("one")(ctx, tx))
			return &fenced.DoneError{Resource: "another"}
		})(t.Context(), scheduler.Run{Job: "report", Tick: tick.Add(time.Minute), Token: 8})
		if !errors.Is(err, fenced.ErrDone) {
			t.Errorf("its effects are rolled back, and it says %v", err)
		}
		d.wantEffects(2)
	}, fenced.SQLite)
}

func TestOnLeader_ShowsTheTokenFirst(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.fenced()
		led := make(chan *election.Term, 1)
		elector := lead(t, fenced.OnLeader(db, func(ctx context.Context) {
			term, _ := election.TermFrom(ctx)
			led <- term
			<-ctx.Done()
		}, "ledger", "stock"))
		term := <-led
		for _, resource := range []string{"ledger", "stock"} {
			h := fenced.Holder{Resource: resource, Token: term.Token() - 1}
			if err := fenced.Tx(t.Context(), db, h, d.effect("late")); !errors.Is(err, fenced.ErrFenced) {
				t.Errorf("%s does not know of the leader: %v", resource, err)
			}
		}
		must(t, fenced.Tx(t.Context(), db, fenced.Term("ledger", term), d.effect("in time")))
		err := elector.Locker().Do(t.Context(), "import", func(ctx context.Context, lease *redlock.Lease) error {
			return fenced.Tx(ctx, db, fenced.Lease(lease), d.effect("under a lease"))
		})
		must(t, err)
		d.wantEffects(2)
	}, fenced.SQLite)
}

func TestOnLeader_ResignsIfALaterOneWasThere(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.fenced()
		must(t, fenced.Claim(t.Context(), db, plain(1<<62)))
		causes := make(chan error, 1)
		lead(t, fenced.OnLeader(db, func(context.Context) { t.Error("it leads") }, "ledger"),
			election.WithHooks(election.Hooks{Ended: func(_ *election.Term, cause error) { causes <- cause }}))
		if cause := <-causes; !errors.Is(cause, election.ErrResigned) || !errors.Is(cause, fenced.ErrFenced) {
			t.Error(cause)
		}
	}, fenced.SQLite)
}

// lead runs an elector until the end of the test.
func lead(t *testing.T, callback func(context.Context), opts ...election.Option) *election.Elector {
	t.Helper()
	r := redlocktest.New(t, 1).Replica(append(opts, election.OnLeader(callback))...)
	r.Run()
	return r.Elector
}
