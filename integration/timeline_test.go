//go:build unix

package integration_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/integration"
)

// timeline formats the events of the replicas for people, without most samples.
func (c *cluster) timeline() string {
	events := slices.SortedFunc(slices.Values(c.events), func(a, b integration.Event) int {
		return int(a.At - b.At)
	})
	var text strings.Builder
	text.WriteString("what happened:")
	believed := make(map[string]bool)
	for _, e := range events {
		if e.Kind == integration.Sample && e.Valid == believed[e.Replica] {
			continue
		}
		if e.Kind == integration.Sample {
			believed[e.Replica] = e.Valid
		}
		at := func(d time.Duration) float64 { return (d - events[0].At).Seconds() }
		fmt.Fprintf(&text, "\n%8.3fs %s %-10s", at(e.At), e.Replica, e.Kind)
		if e.Token > 0 {
			fmt.Fprintf(&text, " term %d until %.3fs", e.Token, at(e.Deadline))
		}
		text.WriteString(" " + e.Text)
	}
	return text.String()
}
