package jobstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// Where these parts of an entry begin.
const tag, ballot = 0, 28

// overwrite replaces a part of a node's entry of the job by text.
func (c *cluster) overwrite(node, at int, text string) {
	entry := c.Node(node).HGet("{redlock}:jobs:x", job)
	c.Node(node).HSet("{redlock}:jobs:x", job, entry[:at]+text+entry[at+len(text):])
}

// Ballots of an earlier incarnation are not compared with the promised one.
func TestPrepare_ABallotAheadOfTheClockIsNotBelieved(t *testing.T) {
	for name, text := range map[string]string{
		"far ahead":   "9999999999999999ffffffffff",
		"no number":   "zzzzzzzzzzzzzzzzzzzzzzzzzz",
		"just before": "",
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a := c.stored()
				a.links.Cut(2)
				c.overwrite(0, tag, strings.Repeat("0", ballot))
				c.overwrite(0, ballot, text)
				_, err := a.Decide(a.mustPrepare(job), 0)
				views, _, viewErr := a.Views(t.Context(), job)
				if text == "" {
					if err != nil || viewErr != nil || len(views) != 1 {
						t.Errorf("%v; %+v, %v", err, views, viewErr)
					}
					return
				}
				want.Err(t, err, jobstore.ErrNoQuorum)
				want.Text(t, err, "the ballot of its state")
				if viewErr != nil || len(views) != 1 || string(views[0].At.Ballot) == text {
					t.Errorf("the state is shown: %+v, %v", views, viewErr)
				}
			})
		})
	}
}

// Two nodes answer at once with different states of the same position. The third node shows which one is wrong.
func TestPrepare_WaitsForAMajorityThatIsAlike(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.writer("a"), c.writer("b")
		a.mustPrepare(job)
		a.mustWrite(40 * time.Second)
		time.Sleep(timeout)
		entry := c.Node(0).HGet("{redlock}:jobs:x", job)
		state := jobstore.State{Mark: c.Start.Add(40 * time.Second)}.Text()
		c.overwrite(0, len(entry)-len(state), jobstore.State{Mark: c.Start.Add(30 * time.Second)}.Text())
		b.links.Delay(timeout/10, 2)
		basis, err := b.Decide(b.mustPrepare(job), 0)
		if err != nil || !basis.State.Mark.Equal(c.Start.Add(40*time.Second)) {
			t.Errorf("it goes on from %+v, %v", basis, err)
		}
	})
}
