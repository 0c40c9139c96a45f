package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/ops"
	"github.com/redlockfx/redlockfx/scheduler"
)

// which selects jobs.
type which struct {
	text string // in the name, the spec or the zone
	only string // one of ops.Choices
}

func (p *program) jobsCommand() *cobra.Command {
	var of which
	states := ops.Choices[1:]
	c := &cobra.Command{
		Use: "jobs [TEXT]", Args: cobra.MaximumNArgs(1),
		Short: "List the jobs, those in trouble first, with their next and last runs",
		Long: "Jobs lists the jobs with their next and last runs, and why a tick did not run. Those in trouble come first.\n" +
			"TEXT is a part of the name, the spec or the zone of the jobs to list.",
		RunE: func(cmd *cobra.Command, args []string) error {
			of.text = strings.Join(args, "")
			if !slices.Contains(ops.Choices, of.only) {
				return exit{misused, fmt.Errorf("--only %q must be one of %s", of.only, strings.Join(states, ", "))}
			}
			return p.withScheduler(cmd.Context(), func(ctx context.Context, e *election.Elector, s *scheduler.Scheduler) error {
				return p.show(ctx, func(ctx context.Context) (any, table, error) { return p.jobs(ctx, e, s, of) })
			})
		},
	}
	c.Flags().StringVar(&of.only, "only", "", "`state` of the jobs to list: "+strings.Join(states, ", "))
	_ = c.RegisterFlagCompletionFunc("only", cobra.FixedCompletions(states, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// jobs returns jobs of an election. If there are none, the error says why.
func (p *program) jobs(ctx context.Context, e *election.Elector, s *scheduler.Scheduler, of which) (any, table, error) {
	all, err := s.Jobs(ctx)
	if err != nil {
		return nil, table{}, err
	}
	now := nodesNow(e)
	list := make([]*ops.Job, 0, len(all))
	for i := range all {
		all[i].Own = "" // this process is no replica
		one := ops.JobOf(&all[i], now)
		one.LosesRuns(func(r *ops.Record) bool { return r.Replica != all[i].Leader })
		if one.Matches(of.text, of.only) {
			list = append(list, &one)
		}
	}
	slices.SortFunc(list, ops.ByTrouble)
	t := table{
		head: []string{
			"JOB", in("NEXT"), in("LAST"), "OUTCOME", "FAILED", "MISSED", "SPEC", "ZONE OF SPEC", "ERROR, OR WHY NOT",
		},
		drop: []int{7, 6, 5, 4, 1},
	}
	for _, one := range list {
		t.rows = append(t.rows, rowOf(one, now))
	}
	switch {
	case len(list) > 0:
		return list, t, nil
	case len(all) > 0:
		return list, t, exit{no, fmt.Errorf("none of the %d jobs matches", len(all))}
	}
	_, err = e.Leader(ctx)
	return list, t, p.nobodyLeads(ctx, e, err)
}

// nodesNow returns the time by the nodes' clock, or by this machine's if no node has answered.
func nodesNow(e *election.Elector) time.Time {
	if now, ok := e.Locker().Time(); ok {
		return now
	}
	return time.Now()
}

// rowOf returns the row of a job in the table.
func rowOf(j *ops.Job, now time.Time) []string {
	next, last, outcome, why := "-", "-", "-", cmp.Or(j.Long, j.Why)
	switch {
	case j.Paused:
		next = "paused"
		if j.Pause != nil {
			why = cmp.Or(why, pauseOf(j.Pause))
		}
	case j.Next != nil:
		next = near(*j.Next)
	}
	if r := j.Last; r != nil {
		outcome = outcomeOf(r)
		if r.Start != nil {
			last = near(*r.Start)
		}
		if j.Running && r.Took != nil {
			outcome += " for " + sofar(time.Duration(*r.Took))
		}
		why = cmp.Or(why, r.Err)
	}
	why = cmp.Or(why, j.Waits)
	if why == "" && j.Lost != nil && now.Sub(*j.Lost) < ops.LostShown {
		why = "a majority of nodes lost its state at " + at(*j.Lost) + ": its history and its pause may be gone"
	}
	return []string{j.Name, next, last, outcome, count(j.Failures), count(j.Missed), j.Spec, j.Zone, why}
}

// count formats a number that may not be known.
func count(n *int) string {
	if n == nil {
		return "?"
	}
	return fmt.Sprint(*n)
}

// pauseOf says who paused a job, since when, until when and why.
func pauseOf(c *ops.Change) string {
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
			names = append(names, one.Job)
		}
		return err
	})
	if err != nil {
		cobra.CompErrorln(oneLine(hideArguments(err, p.args, false)))
		return nil, cobra.ShellCompDirectiveError
	}
	return slices.DeleteFunc(names, isUnprintable), cobra.ShellCompDirectiveNoFileComp
}
