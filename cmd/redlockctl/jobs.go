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

// job is what programs get of a job.
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
}

// record is what programs get of a tick.
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
}

func recordOf(r scheduler.Record) record {
	return record{r.Tick, r.State, r.Replica, r.Token, r.Attempt, r.Manual, some(r.Start), some(r.End), r.Err}
}

func some(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func (p *program) jobsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "jobs", Short: "All jobs, with their next and last runs", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withScheduler(cmd.Context(), func(ctx context.Context, _ *election.Elector, s *scheduler.Scheduler) error {
				return p.show(ctx, func(ctx context.Context) (any, table, error) { return jobs(ctx, s) })
			})
		},
	}
}

func jobs(ctx context.Context, s *scheduler.Scheduler) (any, table, error) {
	all, err := s.Jobs(ctx)
	if err != nil {
		return nil, table{}, err
	}
	list := make([]job, 0, len(all))
	t := table{head: []string{"JOB", "SPEC", "ZONE", "NEXT", "LAST", "OUTCOME", "FAILED", "MISSED", "WHY NOT"}}
	for _, one := range all {
		j := job{
			one.Job, one.Spec, one.Zone, some(one.Next), one.Paused, one.Running, nil, one.Failures, one.Missed, one.Reason,
		}
		row := []string{
			one.Job, one.Spec, one.Zone, at(one.Next), "-", "-", fmt.Sprint(one.Failures), fmt.Sprint(one.Missed), one.Reason,
		}
		if one.Paused {
			row[3] = "paused"
		}
		if one.Last.ID != "" {
			last := recordOf(one.Last)
			j.Last = &last
			row[4], row[5] = at(one.Last.Start), string(one.Last.State)
		}
		list = append(list, j)
		t.rows = append(t.rows, row)
	}
	return list, t, nil
}

// settingCommands are what changes something.
func (p *program) settingCommands() []*cobra.Command {
	var all []*cobra.Command
	for _, c := range []struct {
		name, short, done string
		do                func(*scheduler.Scheduler, context.Context, string) error
	}{
		{"trigger", "Have a job run now, on the leader", "is asked to run", (*scheduler.Scheduler).Trigger},
		{"pause", "Have no tick of a job run, on any replica", "is paused", (*scheduler.Scheduler).Pause},
		{"resume", "End a pause", "is resumed", (*scheduler.Scheduler).Resume},
	} {
		who := ""
		cmd := &cobra.Command{
			Use: c.name + " JOB", Short: c.short, Args: cobra.ExactArgs(1), ValidArgsFunction: p.completeJobs,
			RunE: func(cmd *cobra.Command, args []string) error {
				return p.withScheduler(cmd.Context(), func(ctx context.Context, _ *election.Elector, s *scheduler.Scheduler) error {
					if err := c.do(s, scheduler.As(ctx, cmp.Or(who, osUser())), args[0]); err != nil {
						return err
					}
					if p.output == "json" {
						return p.print(map[string]string{"job": args[0], "action": c.name}, table{})
					}
					_, err := fmt.Fprintf(p.out, "%s %s\n", cell(args[0]), c.done)
					return err
				})
			},
		}
		cmd.Flags().StringVar(&who, "as", "", "`name` of who wants it, for the history and the leader's log; the OS user if not set")
		all = append(all, cmd)
	}
	return all
}

// completeJobs asks the nodes for names.
func (p *program) completeJobs(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	err := p.withScheduler(cmd.Context(), func(ctx context.Context, _ *election.Elector, s *scheduler.Scheduler) error {
		all, err := s.Jobs(ctx)
		for _, one := range all {
			// A shell prints the names, and cobra takes some words for commands of its own.
			if one.Job == plain.Text(one.Job) && !strings.HasPrefix(one.Job, "_activeHelp_") {
				names = append(names, one.Job)
			}
		}
		return err
	})
	if err != nil {
		cobra.CompErrorln(oneLine(hideArguments(err, []string{p.election, p.prefix, p.tlsCA, p.tlsCert, p.tlsKey}, false)))
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
