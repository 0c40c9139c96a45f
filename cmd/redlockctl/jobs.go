package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/plain"
	"github.com/redlockfx/redlockfx/scheduler"
)

// lostShown is how long the table shows that the nodes have lost a job.
const lostShown = 24 * time.Hour

// job is the JSON of a job.
type job struct {
	Name     string     `json:"name"`
	Spec     string     `json:"spec"`
	Zone     string     `json:"zone"`
	Next     *time.Time `json:"next,omitempty"`
	Paused   bool       `json:"paused"`
	Running  bool       `json:"running"`
	Last     *record    `json:"last,omitempty"`
	Failures int        `json:"failures"`
	Missed   int        `json:"missed"`
	Why      string     `json:"why,omitempty"`
	Pause    *change    `json:"pause,omitempty"` // who paused it, and why
	Lost     *time.Time `json:"lost,omitempty"`  // when a leader found that the nodes had lost its history and its pause
}

// record is the JSON of a tick.
type record struct {
	Tick    time.Time       `json:"tick"`
	State   scheduler.State `json:"state"`
	Replica string          `json:"replica"`
	Term    uint64          `json:"term"`
	Attempt int             `json:"attempt"`
	Manual  bool            `json:"manual"`
	Start   *time.Time      `json:"start,omitempty"`
	End     *time.Time      `json:"end,omitempty"`
	Err     string          `json:"error,omitempty"`
	Ticks   int             `json:"ticks,omitempty"` // their number, if it stands for several that did not run
	From    *time.Time      `json:"from,omitempty"`  // the first of them
}

func recordOf(r scheduler.Record) record {
	return record{r.Tick, r.State, r.Replica, r.Token, r.Attempt, r.Manual, some(r.Start), some(r.End), r.Err, r.Ticks, some(r.From)}
}

func some(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func (p *program) jobsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "jobs", Short: "List all jobs, with their next and last runs", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withScheduler(cmd.Context(), func(ctx context.Context, e *election.Elector, s *scheduler.Scheduler) error {
				return p.show(ctx, func(ctx context.Context) (any, table, error) { return p.jobs(ctx, e, s) })
			})
		},
	}
}

// jobs returns all jobs of an election. If there are none and nobody leads, the error says why.
func (p *program) jobs(ctx context.Context, e *election.Elector, s *scheduler.Scheduler) (any, table, error) {
	all, err := s.Jobs(ctx)
	if err != nil {
		return nil, table{}, err
	}
	if len(all) == 0 {
		if _, err := e.Leader(ctx); err != nil {
			return nil, table{}, p.nobodyLeads(ctx, e, err)
		}
	}
	list := make([]job, 0, len(all))
	t := table{head: []string{"JOB", "SPEC", "ZONE OF SPEC", in("NEXT"), in("LAST"), "OUTCOME", "FAILED", "MISSED", "ERROR, OR WHY NOT"}}
	for _, one := range all {
		j := job{
			one.Job, one.Spec, one.Zone, some(one.Next), one.Paused, one.Running, nil, one.Failures, one.Missed, one.Reason, nil,
			some(one.DataLost),
		}
		row := []string{
			one.Job, one.Spec, one.Zone, at(one.Next), "-", "-", fmt.Sprint(one.Failures), fmt.Sprint(one.Missed), one.Reason,
		}
		if one.Paused {
			row[3] = "paused"
			pause := changeOf(one.Pause)
			j.Pause = &pause
			row[8] = cmp.Or(one.Reason, pauseOf(one.Pause))
		}
		if one.Last.ID != "" {
			last := recordOf(one.Last)
			j.Last = &last
			row[4], row[5] = at(one.Last.Start), outcome(one.Last, one.Leader)
			j.Running = one.Running && isUnderWay(one.Last, one.Leader)
			if j.Running {
				row[5] += " for " + sofar(time.Since(one.Last.Start))
			}
			row[8] = cmp.Or(one.Overrun.Err, row[8], one.Last.Err)
		}
		row[8] = cmp.Or(row[8], one.Waiting.String())
		if row[8] == "" && time.Since(one.DataLost) < lostShown {
			row[8] = "a majority of nodes lost its state at " + at(one.DataLost) + ": its history and its pause may be gone"
		}
		list = append(list, j)
		t.rows = append(t.rows, row)
	}
	return list, t, nil
}

// pauseOf says who paused a job, since when, until when and why.
func pauseOf(c scheduler.Change) string {
	text := fmt.Sprintf("paused by %s since %s", cmp.Or(c.By, "somebody"), at(c.At))
	if !c.Until.IsZero() {
		text += " until " + at(c.Until)
	}
	if c.Reason != "" {
		text += ": " + c.Reason
	}
	return text
}

// completeJobs completes names of jobs, which it reads from the nodes.
func (p *program) completeJobs(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	err := p.withScheduler(cmd.Context(), func(ctx context.Context, _ *election.Elector, s *scheduler.Scheduler) error {
		all, err := s.Jobs(ctx)
		for _, one := range all {
			// The shell prints the names, so they must be plain text. Cobra gives this prefix a special meaning.
			if one.Job == plain.Text(one.Job) && !strings.HasPrefix(one.Job, "_activeHelp_") {
				names = append(names, one.Job)
			}
		}
		return err
	})
	if err != nil {
		cobra.CompErrorln(oneLine(hideArguments(err, p.args, false)))
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
