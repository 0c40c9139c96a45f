package scheduler_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// zoneAhead returns Africa/Cairo as a machine has it whose zone data say that its clock is always ahead of UTC by some hours.
func zoneAhead(t *testing.T, hours int) *time.Location {
	t.Helper()
	data := append([]byte("TZif"), make([]byte, 32)...)            // all counts are 0 but the last two
	data = binary.BigEndian.AppendUint32(data, 1)                  // one type of time
	data = binary.BigEndian.AppendUint32(data, 2)                  // bytes of its abbreviation
	data = binary.BigEndian.AppendUint32(data, uint32(hours*3600)) // its seconds ahead of UTC
	loc, err := time.LoadLocationFromTZData("Africa/Cairo", append(data, 0, 0, 'X', 0))
	want.NoError(t, err)
	return loc
}

// A government has moved the clock, and only one of two builds knows. The deploy is at 90 minutes, between the two instants of 03:00.
func TestZoneData_NoLocalTimeRunsTwiceIfTheyDiffer(t *testing.T) {
	const line = "replicas have different zone data, so their ticks differ: give all of them the same"
	for name, test := range map[string]struct {
		first, then int // hours ahead of UTC
		ran         []string
		missed      int
	}{
		"03:00 comes a second time": {2, 1, []string{"a at 1h0m0s"}, 1},
		"03:00 comes earlier":       {1, 2, []string{"b at 1h0m0s"}, 0},
	} {
		for _, spec := range []string{"0 3 * * *", "@at 2000-01-02T03:00:00"} {
			t.Run(name+", "+spec, func(t *testing.T) {
				inBubble(t, 3, func(t *testing.T, c *cluster) {
					a, b := c.leader("a"), c.idle("b")
					for r, hours := range map[*replica]int{a: test.first, b: test.then} {
						job := r.job("job", spec, quick)
						job.Location = zoneAhead(t, hours)
						r.add(job)
					}
					wantOwn := func(r *replica, differs bool) {
						t.Helper()
						if own := r.status("job").Own; strings.HasSuffix(own, " with other zone data") != differs {
							t.Errorf("%s has %q", r.id, own)
						}
					}
					c.SleepTo(90 * time.Minute)
					wantOwn(a, false)
					wantOwn(b, true)
					a.leaves()
					b.takesOver()
					c.SleepTo(3 * time.Hour)
					wantOwn(a, true)
					wantOwn(b, false)
					var ran []string
					for _, run := range c.records() {
						ran = append(ran, run.by+" at "+c.at(run.Tick))
					}
					if lines := b.logged(zapcore.WarnLevel, line); !slices.Equal(ran, test.ran) || len(lines) != 1 {
						t.Errorf("ran at %v, want %v; logged %v", ran, test.ran, lines)
					}
					if s := b.status("job"); s.Missed != test.missed {
						t.Errorf("%d are missed, want %d", s.Missed, test.missed)
					}
				})
			})
		}
	}
}
