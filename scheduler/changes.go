package scheduler

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/name"
)

// Change is what a person asked for.
type Change struct {
	Job    string    // empty for all jobs
	What   string    // "pause", "resume", "trigger", "rerun", "cancel", "pause all" or "resume all"
	By     string    // who made the change, from [By]; empty if not given
	Reason string    // from [Because]; empty if not given
	Until  time.Time // when the pause ends by itself, from [Until]; zero: it does not
	Tick   time.Time // that is to run again; zero: the change is no rerun
	From   string    // the replica that made the call
	At     time.Time
}

// ChangeOption says more about a change.
type ChangeOption func(*change)

// change is what the options of a call say.
type change struct {
	by, why *string
	until   *time.Time
}

// By names who makes the change: a user that the caller has authenticated. The name is logged, stored with the change, and shown. It
// has 1 to 200 bytes of UTF-8 without control characters.
func By(who string) ChangeOption { return func(c *change) { c.by = &who } }

// Because gives the reason for a change, such as a ticket. It is logged, stored with the change, and shown. It has 1 to 200 bytes of
// UTF-8 without control characters.
func Because(reason string) ChangeOption { return func(c *change) { c.why = &reason } }

// Until ends a pause by itself, at an instant of the nodes' clocks, in whole milliseconds. Nobody needs to be awake or to lead then:
// whoever leads next knows that the pause has ended, and the ticks since then run as their catch-up says. A tick at that very instant
// runs.
func Until(t time.Time) ChangeOption { return func(c *change) { c.until = &t } }

// origin checks the options, and returns what is stored.
func (s *Scheduler) origin(r jobstore.Request, opts []ChangeOption) (o jobstore.Origin, err error) {
	var c change
	for i, opt := range opts {
		if opt == nil {
			return o, fmt.Errorf("scheduler: option %d of %d is nil", i+1, len(opts))
		}
		opt(&c)
	}
	o.From = s.elector.Identity()
	text := func(what string, text *string) string {
		if text == nil {
			return ""
		}
		if problem := name.CheckText(what, *text); problem != nil && err == nil {
			err = fmt.Errorf("%w: %w", ErrName, problem)
		}
		return *text
	}
	o.By, o.Why = text("who", c.by), text("the reason", c.why)
	if c.until == nil || err != nil {
		return o, err
	}
	switch o.Until = c.until.Truncate(time.Millisecond).UTC(); {
	case !r.On:
		return o, fmt.Errorf("scheduler: %s: Until is for a pause", changeOf("", r).What)
	case o.Until.IsZero(): // stored, it would be a pause without an end
		return o, fmt.Errorf("scheduler: pause: until %s is over", o.Until.Format(time.RFC3339))
	}
	return o, nil
}

// checkUntil returns an error if a pause cannot end at an instant; zero: it has no end. now is by the nodes' clocks.
func checkUntil(until, now time.Time) error {
	switch {
	case until.IsZero():
	case !until.After(now):
		return fmt.Errorf("scheduler: pause: until %s is over: the nodes' clocks show %s", until.Format(time.RFC3339),
			now.Format(time.RFC3339))
	case until.Year() > 9999:
		return fmt.Errorf("scheduler: pause: until %v is too far: leave Until out for a pause without an end", until)
	}
	return nil
}

// Changes returns the newest twenty changes of a job, the newest first, as the nodes say. They may include a change
// whose call returned an error. The changes of all jobs are those of "".
func (s *Scheduler) Changes(ctx context.Context, job string) ([]Change, error) {
	of := job
	if job == "" {
		of = jobstore.AllJobs
	} else if err := name.Check("name", job); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrName, err)
	}
	past, err := s.store.Past(ctx, of)
	if err != nil {
		return nil, publicError("changes of", job, err)
	}
	all := make([]Change, len(past))
	for i, p := range past {
		all[i] = changeOf(of, p)
	}
	return all, nil
}

func changeOf(job string, r jobstore.Request) Change {
	c := Change{Job: job, By: r.By, Reason: r.Why, Until: r.Until, From: r.From, Tick: r.Tick, At: r.At()}
	switch r.Verb {
	case jobstore.ToTrigger:
		c.What = "trigger"
	case jobstore.ToCancel:
		c.What = "cancel"
	case jobstore.ToRerun:
		c.What = "rerun"
	default:
		if c.What = "resume"; r.On {
			c.What = "pause"
		}
	}
	if job == jobstore.AllJobs {
		c.Job, c.What = "", c.What+" all"
	}
	return c
}

// reportChange reports a change that the leader has applied.
func (l *loop) reportChange(job string, r jobstore.Request) {
	c := changeOf(job, r)
	fields := []zap.Field{zap.String("job", c.Job), zap.String("what", c.What), zap.String("by", c.By), zap.String("reason", c.Reason),
		zap.String("from", c.From), zap.Time("asked", c.At)}
	if !c.Tick.IsZero() {
		fields = append(fields, zap.Time("tick", c.Tick))
	}
	if !c.Until.IsZero() {
		fields = append(fields, zap.Time("until", c.Until))
	}
	l.log.Info("change applied", fields...)
	l.s.hooks.changed(c)
}
