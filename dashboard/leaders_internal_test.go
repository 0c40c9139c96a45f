package dashboard

import (
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/election/termlog"
)

// With a node away, the nodes may name the leader with a token that is larger than that of its term. It is the same term: its runs
// are not those of an earlier leader.
func TestView_OfALeaderWhoseTokenIsTooLarge(t *testing.T) {
	for name, test := range map[string]struct {
		leader election.Leader
		want   uint64
	}{
		"the same term":      {election.Leader{ID: "a", Token: 21, Since: instant.Add(time.Second)}, 20},
		"another replica's":  {election.Leader{ID: "b", Token: 21, Since: instant.Add(time.Second)}, 21},
		"a later term of it": {election.Leader{ID: "a", Token: 21, Since: instant.Add(time.Minute)}, 21},
		"an earlier token":   {election.Leader{ID: "a", Token: 19, Since: instant.Add(time.Second)}, 19},
	} {
		t.Run(name, func(t *testing.T) {
			s := thousand(instant)
			s.leader.value = test.leader
			s.terms.value = []termlog.Record{{Token: 20, Replica: "a", Since: instant}}
			v := newView(s, "billing")
			if v.Leader.Term != test.want || (v.Leader.Since != nil) != (test.want == 20) {
				t.Errorf("term %d since %v, want %d", v.Leader.Term, v.Leader.Since, test.want)
			}
		})
	}
}
