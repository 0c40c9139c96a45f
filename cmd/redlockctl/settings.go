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
	"github.com/redlockfx/redlockfx/internal/ops"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// setting is a command that changes what a job does. args are the words after the command, the job's name first.
type setting struct {
	use, short, done string // done follows the job's name
	args             cobra.PositionalArgs
	do               func(ctx context.Context, s *scheduler.Scheduler, args []string, opts ...scheduler.ChangeOption) error
	wait             waiter // for --wait; nil: the command starts no run
	ends             bool   // it has --until and --for
	// doubt returns why the user must confirm the change with --yes, or nil; nil itself: there is no --yes.
	doubt func(ctx context.Context, s *scheduler.Scheduler, args []string) error
}

// waiter asks for a run, and returns its outcome.
type waiter func(
	ctx context.Context, s *scheduler.Scheduler, args []string, opts ...scheduler.ChangeOption,
) (scheduler.Record, error)

// settings are the commands of settingCommands.
var settings = []setting{
	{
		use: "trigger JOB", short: "Run a job now, on the leader", done: "is triggered",
		args: cobra.ExactArgs(1), do: onJob((*scheduler.Scheduler).Trigger), wait: triggerAndWait,
	},
	{
		use: "rerun JOB TICK", done: "runs again",
		short: "Run a tick of a job again, such as 2026-12-01T02:00:00Z, under its own key",
		args:  cobra.ExactArgs(2), do: rerun, wait: rerunAndWait, doubt: wasOK,
	},
	{
		use: "cancel JOB", done: "is asked to end",
		short: "End the runs of a job that are under way, and do not repeat them",
		args:  cobra.ExactArgs(1), do: onJob((*scheduler.Scheduler).Cancel),
	},
	{
		use: "pause JOB", short: "Stop running the ticks of a job, on all replicas", done: "is paused",
		args: cobra.ExactArgs(1), do: onJob((*scheduler.Scheduler).Pause), ends: true,
	},
	{
		use: "resume JOB", short: "End a pause", done: "is resumed",
		args: cobra.ExactArgs(1), do: onJob((*scheduler.Scheduler).Resume),
	},
	{
		use: "pause-all", done: "all jobs are paused",
		short: "Stop running the ticks of all jobs, also of those that are added later",
		args:  cobra.NoArgs, do: onAll((*scheduler.Scheduler).PauseAll), ends: true,
	},
	{
		use: "resume-all", done: "all jobs are resumed",
		short: "End the pause of all jobs; jobs that are paused by themselves stay paused",
		args:  cobra.NoArgs, do: onAll((*scheduler.Scheduler).ResumeAll),
	},
}

func onJob(
	do func(*scheduler.Scheduler, context.Context, string, ...scheduler.ChangeOption) error,
) func(context.Context, *scheduler.Scheduler, []string, ...scheduler.ChangeOption) error {
	return func(ctx context.Context, s *scheduler.Scheduler, args []string, opts ...scheduler.ChangeOption) error {
		return do(s, ctx, args[0], opts...)
	}
}

func onAll(
	do func(*scheduler.Scheduler, context.Context, ...scheduler.ChangeOption) error,
) func(context.Context, *scheduler.Scheduler, []string, ...scheduler.ChangeOption) error {
	return func(ctx context.Context, s *scheduler.Scheduler, _ []string, opts ...scheduler.ChangeOption) error {
		return do(s, ctx, opts...)
	}
}

func triggerAndWait(
	ctx context.Context, s *scheduler.Scheduler, args []string, opts ...scheduler.ChangeOption,
) (scheduler.Record, error) {
	return s.TriggerAndWait(ctx, args[0], opts...)
}

func rerun(ctx context.Context, s *scheduler.Scheduler, args []string, opts ...scheduler.ChangeOption) error {
	tick, err := tickOf(args[1])
	if err != nil {
		return err
	}
	return s.Rerun(ctx, args[0], tick, opts...)
}

func rerunAndWait(
	ctx context.Context, s *scheduler.Scheduler, args []string, opts ...scheduler.ChangeOption,
) (scheduler.Record, error) {
	tick, err := tickOf(args[1])
	if err != nil {
		return scheduler.Record{}, err
	}
	return s.RerunAndWait(ctx, args[0], tick, opts...)
}

// wasOK returns an error if the history says that a run of the tick was ok.
func wasOK(ctx context.Context, s *scheduler.Scheduler, args []string) error {
	tick, err := tickOf(args[1])
	if err != nil {
		return err
	}
	const all = 50 // that the nodes keep
	records, err := s.History(ctx, args[0], all)
	for _, r := range records {
		if r.State == scheduler.StateOK && r.Tick.Equal(tick) {
			return exit{misused, fmt.Errorf("the run of %s of %q on %s was ok, nothing was changed: to do its work once more, add --yes",
				args[1], args[0], r.Replica)}
		}
	}
	return err
}

func tickOf(text string) (time.Time, error) {
	if tick, ok := timeOf(text); ok {
		return tick, nil
	}
	tick, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return tick, exit{misused, fmt.Errorf("the tick %q must be a time with a zone, as 2026-12-01T02:00:00Z, or as history shows it", text)}
	}
	return tick, nil
}

// settingCommands returns the commands that change what a job does.
func (p *program) settingCommands() []*cobra.Command {
	var all []*cobra.Command
	for _, c := range settings {
		all = append(all, p.settingCommand(c))
	}
	return all
}

func (p *program) settingCommand(c setting) *cobra.Command {
	who, why, until, span, yes := "", "", "", time.Duration(0), false
	cmd := &cobra.Command{
		Use: c.use, Short: c.short, Args: c.args, ValidArgsFunction: p.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if p.wait < 0 {
				return exit{misused, fmt.Errorf("--wait %v must not be negative", p.wait)}
			}
			end, err := endOf(until, span)
			if err != nil {
				return exit{misused, err}
			}
			opts := []scheduler.ChangeOption{scheduler.By(cmp.Or(who, osUser()))}
			if why != "" {
				opts = append(opts, scheduler.Because(why))
			}
			if !end.IsZero() {
				opts = append(opts, scheduler.Until(end))
			}
			return p.withScheduler(cmd.Context(), func(ctx context.Context, _ *election.Elector, s *scheduler.Scheduler) error {
				if c.doubt != nil && !yes {
					if err := c.doubt(ctx, s, args); err != nil {
						return err
					}
				}
				if p.wait > 0 {
					return p.awaitRun(ctx, args[0], func() (scheduler.Record, error) { return c.wait(ctx, s, args, opts...) })
				}
				if err := c.do(ctx, s, args, opts...); err != nil {
					return err
				}
				return p.changed(cmd.Name(), strings.Join(args[:min(len(args), 1)], ""), c.done)
			})
		},
	}
	cmd.Flags().StringVar(&who, "as", "", "`name` of the person, for the history and the leader's log; default: the OS user")
	cmd.Flags().StringVar(&why, "reason", "", "`reason`, for the history and the leader's log")
	if c.ends {
		cmd.Flags().StringVar(&until, "until", "", "`time` at which the pause ends by itself, as 2026-12-24T09:00:00Z")
		cmd.Flags().DurationVar(&span, "for", 0, "`time` after which the pause ends by itself, as 2h30m")
	}
	if c.doubt != nil {
		cmd.Flags().BoolVar(&yes, "yes", false, "run the tick again although it was ok")
	}
	if c.wait != nil {
		cmd.Flags().DurationVar(&p.wait, "wait", 0, "longest wait for the outcome of this run; exit with 0 if it is ok, "+
			"1 if it failed, 3 if it did not run, 5 if it has not ended")
	}
	return cmd
}

// changed says what was done. job is empty if it was done to all jobs.
func (p *program) changed(action, job, done string) error {
	if p.output == "json" {
		return p.print(map[string]string{"job": job, "action": action}, table{})
	}
	_, err := fmt.Fprintln(p.out, strings.TrimSpace(cell(job)+" "+done))
	return err
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
		soon := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		return end, fmt.Errorf("--until %q must be a time with a zone, as %s", until, soon)
	}
	return end, nil
}

// awaitRun waits for a run, and shows its outcome. The exit code depends on the outcome.
func (p *program) awaitRun(ctx context.Context, job string, wait func() (scheduler.Record, error)) error {
	r, err := wait()
	if err != nil {
		isUnasked := r.State == "" && (errors.Is(err, scheduler.ErrUnknownJob) || errors.Is(err, redlock.ErrNoQuorum))
		if isUnasked || isRefused(err) || ctx.Err() == nil {
			return err // nothing was triggered
		}
		return exit{unfinished, err}
	}
	if p.output == "json" {
		err = p.print(ops.RecordOf(&r, time.Now()), table{})
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
