package redlock_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/redlockfx/redlockfx/internal/testkit/replay"
)

// In a few fixed plans, what the nodes do and the processes conclude is what the rules of the specification allow, and each rule is
// needed. TestSimulation_KeepsThePromises checks the same in random plans.
func TestReplay_OfPlans(t *testing.T) {
	long(t)
	t.Parallel()
	rules := make(map[replay.Rule]int)
	steps := 0
	plan := rapid.Custom(drawPlan)
	for _, seed := range []int{0, 1, 2, 5} { // in the last one, most nodes lose their numbers
		w := play(t, plan.Example(seed))
		steps += w.replay.AddTo(rules)
		if len(w.broken) > 0 {
			t.Error(w)
		}
	}
	t.Logf("replayed: %d steps; by rule:%s", steps, replay.Counts(rules))
	for _, r := range replay.OfLocks {
		if rules[r] == 0 {
			t.Errorf("rule %s was never checked", r)
		}
	}
}
