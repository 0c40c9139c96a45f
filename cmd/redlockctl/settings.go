package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// settingCommands returns the commands that change a job's settings.
func (p *program) settingCommands() []*cobra.Command {
	var all []*cobra.Command
	for _, c := range []struct {
		name, short, done string
		do                func(*scheduler.Scheduler, context.Context, string, ...scheduler.ChangeOption) error
	}{
		{"trigger", "Run a job now, on the leader", "is triggered", (*scheduler.Scheduler).Trigger},
		{"rerun", "Run a tick of a job again, such as 2026-12-01T02:00:00Z, under its own key", "runs again", nil},
		{"cancel", "End the runs of a job that are under way, and do not repeat them", "is asked to end", (*scheduler.Scheduler).Cancel},
		{"pause", "Stop running the ticks of a job, on all replicas", "is paused", (*scheduler.Scheduler).Pause},
		{"resume", "End a pause", "is resumed", (*scheduler.Scheduler).Resume},
		{"pause-all", "Stop running the ticks of all jobs, also of those that are added later", "all jobs are paused", onAll((*scheduler.Scheduler).PauseAll)},
		{"resume-all", "End the pause of all jobs; jobs that are paused by themselves stay paused", "all jobs are resumed", onAll((*scheduler.Scheduler).ResumeAll)},
	} {
		use, positional := c.name+" JOB", cobra.ExactArgs(1)
		if c.name == "rerun" {
			use, positional = "rerun JOB TICK", cobra.ExactArgs(2)
		}
		isAll := strings.HasSuffix(c.name, "-all")
		if isAll {
			use, positional = c.name, cobra.NoArgs
		}
		who, why, until, span := "", "", "", time.Duration(0)
		cmd := &cobra.Command{
			Use: use, Short: c.short, Args: positional, ValidArgsFunction: p.completeJobs,
			RunE: func(cmd *cobra.Command, args []string) error {
				job := strings.Join(args[:min(len(args), 1)], "") // none for all jobs
				do, wait := c.do, (*scheduler.Scheduler).TriggerAndWait
				if c.name == "rerun" {
					tick, err := time.Parse(time.RFC3339, args[1])
					if err != nil {
						return exit{misused, fmt.Errorf("the tick %q must be a time with a zone, as 2026-12-01T02:00:00Z", args[1])}
					}
					do = func(s *scheduler.Scheduler, ctx context.Context, job string, opts ...scheduler.ChangeOption) error {
						return s.Rerun(ctx, job, tick, opts...)
					}
					wait = func(s *scheduler.Scheduler, ctx context.Context, job string, opts ...scheduler.ChangeOption) (scheduler.Record, error) {
						return s.RerunAndWait(ctx, job, tick, opts...)
					}
				}
				if p.wait < 0 {
					return exit{misused, fmt.Errorf("--wait %v must not be negative", p.wait)}
				}
				return p.withScheduler(cmd.Context(), func(ctx context.Context, _ *election.Elector, s *scheduler.Scheduler) error {
					opts := []scheduler.ChangeOption{scheduler.By(cmp.Or(who, osUser()))}
					if why != "" {
						opts = append(opts, scheduler.Because(why))
					}
					end, err := endOf(until, span)
					if err != nil {
						return exit{misused, err}
					}
					if !end.IsZero() {
						opts = append(opts, scheduler.Until(end))
					}
					if p.wait > 0 {
						return p.awaitRun(ctx, job, func(ctx context.Context) (scheduler.Record, error) { return wait(s, ctx, job, opts...) })
					}
					if err := do(s, ctx, job, opts...); err != nil {
						return err
					}
					if p.output == "json" {
						return p.print(map[string]string{"job": job, "action": c.name}, table{})
					}
					_, err = fmt.Fprintln(p.out, strings.TrimSpace(cell(job)+" "+c.done))
					return err
				})
			},
		}
		cmd.Flags().StringVar(&who, "as", "", "`name` of the person, for the history and the leader's log; default: the OS user")
		cmd.Flags().StringVar(&why, "reason", "", "`reason`, for the history and the leader's log")
		if strings.HasPrefix(c.name, "pause") {
			cmd.Flags().StringVar(&until, "until", "", "`time` at which the pause ends by itself, as 2026-12-24T09:00:00Z")
			cmd.Flags().DurationVar(&span, "for", 0, "`time` after which the pause ends by itself, as 2h30m")
		}
		if c.name == "trigger" || c.name == "rerun" {
			cmd.Flags().DurationVar(&p.wait, "wait", 0, "longest wait for the outcome of this run; exit with 0 if it is ok, "+
				"1 if it failed, 3 if it did not run, 5 if it has not ended")
		}
		all = append(all, cmd)
	}
	return all
}

// onAll lets a call for all jobs be used like one for a job.
func onAll(do func(*scheduler.Scheduler, context.Context, ...scheduler.ChangeOption) error) func(*scheduler.Scheduler, context.Context, string, ...scheduler.ChangeOption) error {
	return func(s *scheduler.Scheduler, ctx context.Context, _ string, opts ...scheduler.ChangeOption) error {
		return do(s, ctx, opts...)
	}
}

// endOf returns when a pause ends, or the zero time if it has no end.
func endOf(until string, span time.Duration) (end time.Time, err error) {
	switch {
	case until != "" && span != 0:
		return end, errors.New("--until and --for exclude each other")
	case span < 0:
		return end, fmt.Errorf("--for %v must not be negative", span)
	case span > 0:
		return time.Now().Add(span), nil
	case until == "":
		return end, nil
	}
	if end, err = time.Parse(time.RFC3339, until); err != nil {
		return end, fmt.Errorf("--until %q must be a time with a zone, as %s", until, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}
	return end, nil
}

// awaitRun waits for a run, and shows its outcome. The exit code depends on the outcome.
func (p *program) awaitRun(ctx context.Context, job string, wait func(context.Context) (scheduler.Record, error)) error {
	r, err := wait(ctx)
	if err != nil {
		if r.State == "" && (errors.Is(err, scheduler.ErrUnknownJob) || errors.Is(err, redlock.ErrNoQuorum)) || isRefused(err) || ctx.Err() == nil {
			return err // nothing was triggered
		}
		return exit{unfinished, err}
	}
	if p.output == "json" {
		err = p.print(recordOf(r), table{})
	} else {
		_, err = fmt.Fprintln(p.out, cell(ended(job, r)))
	}
	if err != nil {
		return err
	}
	switch r.State {
	case scheduler.StateOK:
		return nil
	case scheduler.StateMissed, scheduler.StateSkipped:
		return exit{no, nil}
	default:
		return exit{failed, nil}
	}
}

// isRefused reports whether a tick may not run again.
func isRefused(err error) bool {
	return errors.Is(err, scheduler.ErrNotTick) || errors.Is(err, scheduler.ErrNotSettled)
}

// ended describes the outcome of a run.
func ended(job string, r scheduler.Record) string {
	switch r.State {
	case scheduler.StateOK:
		text := fmt.Sprintf("%s is ok: it ran for %v on %s: %s", job, short(r.End.Sub(r.Start)), r.Replica, r.Err)
		return strings.TrimSuffix(text, ": ")
	case scheduler.StateMissed, scheduler.StateSkipped:
		return fmt.Sprintf("%s did not run: %s: %s", job, r.State, r.Err)
	default:
		took, verb := "an unknown time", "is "+string(r.State)
		if r.State == scheduler.StateFailed {
			verb = "failed"
		}
		if !r.End.IsZero() {
			took = r.End.Sub(r.Start).Round(time.Millisecond).String()
		}
		return fmt.Sprintf("%s %s after %s on %s: %s", job, verb, took, r.Replica, r.Err)
	}
}
