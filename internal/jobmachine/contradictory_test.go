package jobmachine_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// contradictory is a schedule whose answers fit nothing that it said before, but come after the instant of the question.
type contradictory struct{ *rand.Rand }

func (c contradictory) Next(t time.Time) time.Time {
	if c.IntN(10) == 0 {
		return time.Time{}
	}
	return t.Truncate(time.Second).Add(time.Duration(1+c.IntN(200)) * time.Second)
}

func (c contradictory) Count(_, _ time.Time) int { return c.IntN(5) }

func (contradictory) Reading(time.Time) time.Time { return time.Time{} }

// A decision ends, opens no tick that has not come, and moves the mark forward only, whatever the schedule says.
func TestNext_AScheduleThatContradictsItselfHarmsNothingElse(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		j := minutely()
		j.Schedule = contradictory{random}
		j.Overlap, j.CatchUp.All = jobmachine.Overlap(random.IntN(4)), random.IntN(2) == 0
		j.CatchUp.Window = time.Duration(1+random.IntN(20)) * time.Minute
		r := lead(t, j, 300, stateOf(j, float64(random.IntN(300))))
		mark := r.m.State().Mark
		for at := 300; at < 2000; at += 1 + random.IntN(120) {
			r.at(float64(at))
			if len(r.underWay) > 0 && random.IntN(2) == 0 {
				r.returns()
			}
			for range 200 {
				if r.due() == nil {
					break
				}
				r.stored()
			}
			s := r.m.State()
			if s.Mark.Before(mark) || s.Mark.After(r.now.Add(jobstore.Ahead)) {
				t.Fatalf("seed %d, at %ds: the mark goes from %v to %v", seed, at, mark, s.Mark)
			}
			mark = s.Mark
			for _, start := range r.started {
				if start.Open.Slot.At.After(r.now.Add(time.Second)) {
					t.Fatalf("seed %d, at %ds: started %v", seed, at, start.Open.Slot.At)
				}
			}
			r.started, r.reported = nil, nil
		}
	}
}
