package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlockfx/redlockfx/scheduler"
)

func (p *program) nextCommand() *cobra.Command {
	n, from := 5, ""
	c := &cobra.Command{
		Use: "next SPEC", Short: "Show when a cron spec ticks next, without contacting nodes", Args: cobra.ExactArgs(1),
		Example: "  redlockctl next 'CRON_TZ=Europe/Berlin 30 2 * * *'",
		RunE: func(_ *cobra.Command, args []string) error {
			since := time.Now()
			if from != "" {
				var err error
				if since, err = time.Parse(time.RFC3339, from); err != nil {
					return exit{misused, fmt.Errorf("--from %q must be like 2026-11-22T10:00:00Z", from)}
				}
			}
			if n < 1 || n > 1000 {
				return exit{misused, fmt.Errorf("--number %d must be 1 to 1000", n)}
			}
			ticks, err := scheduler.Preview(args[0], nil, since, n)
			if err != nil {
				return exit{misused, err}
			}
			t := table{head: []string{in("TICK"), "UTC", "IN"}}
			for _, tick := range ticks {
				t.rows = append(t.rows, []string{at(tick), tick.Format("2006-01-02 15:04:05"), tick.Sub(since).Round(time.Second).String()})
			}
			if len(ticks) == 0 { // an @at that has passed
				ticks, t.rows = []time.Time{}, [][]string{{"none"}}
			}
			return p.print(ticks, t)
		},
	}
	c.Flags().IntVar(&n, "number", n, "number of ticks")
	c.Flags().StringVar(&from, "from", "", "show ticks after this `time`; default: now")
	return c
}
