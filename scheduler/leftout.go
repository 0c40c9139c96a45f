package scheduler

import (
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/register"
)

var (
	errLostRun = errors.New("its process was gone when another one led")
	errOverlap = errors.New("a run is under way")
	errGivenUp = errors.New("of the nodes that answered too few could vote for it")
)

// giveUpLocked gives a claim up that the nodes that answer cannot make good, as they are past its slot, where it has been
// asked for for a while and holds others up. Nothing is given up before that: nodes that were only away vote when they
// are back.
func (l *loop) giveUpLocked(c claim, past time.Time) bool {
	e, now, floor := c.entry, c.record.Start, c.entry.floor
	if c.kind == aTick {
		floor = later(floor, c.slot.At)
	}
	next := e.job.schedule.Next(floor)
	retried := now.Add(again.Max + 3*l.s.elector.Locker().Settings().NodeTimeout) // if it were asked for once more
	holdsUp := !next.IsZero() && e.job.start(next).Before(retried) && !e.state.Pause.On
	if past.IsZero() || now.Before(e.asked[c.kind].since.Add(fresh)) || !holdsUp {
		return false
	}
	if c.kind == aTick { // it is left out with all that cannot be won either, by the claim of one that can be
		e.past = past
		return false
	}
	l.settleLocked(c)
	return true
}

// lost is the claim as what it says of the run before it: that nobody will end it.
func (c claim) lost() claim {
	asked := c.record
	c.record = c.before
	c.record.State, c.record.End, c.record.Err = register.Lost, asked.Start, errLostRun.Error()
	if asked.Run != "" { // a node that has voted for the next attempt takes no end of the one before
		c.record.Run, c.record.Attempt, c.record.Token = asked.Run, asked.Attempt, asked.Token
	}
	return c
}

// settleLost writes that the end of an earlier leader's run is not known. Of that it has asked a quorum: the nodes that
// told of the run may not have heard of its end.
func (l *loop) settleLost(c claim) {
	job := c.entry.job.Name
	if l.hasEnded(job, c.record) {
		return
	}
	err := l.finish(job, c.record, c.record.Attempt > c.before.Attempt)
	l.log.Error("the run of an earlier leader is lost: its end is not known",
		zap.String("job", job), zap.Time("tick", c.record.Slot.At), zap.String("replica", c.record.By),
		zap.NamedError("not_written", err))
	l.s.hooks.finished(recordOf(job, c.record))
}

// settleEnded has nodes that have voted for a take-over know of the end that the run has: else that vote would stay for
// a run under way.
func (l *loop) settleEnded(c claim, end register.Record) {
	end.Attempts, end.Run, end.Attempt = max(end.Attempt, end.Attempts), c.record.Run, c.record.Attempt
	if err := l.finish(c.entry.job.Name, end, true); err != nil {
		l.log.Warn("it could not be written that a run had ended: the next leader will take it for one under way",
			zap.String("job", c.entry.job.Name), zap.Time("tick", c.slot.At), zap.Error(err))
	}
}

// hasEnded tells whether nodes know of an end of the tick, and then tells the others.
func (l *loop) hasEnded(job string, lost register.Record) bool {
	ctx, cancel := l.writing()
	defer cancel()
	known, err := l.s.register.Read(ctx, job)
	if err != nil {
		return false // nor can it be written then that the run is lost
	}
	for _, r := range known.Records {
		if r.Slot == lost.Slot && r.Ended() && r.State != register.Lost && r.Attempt >= lost.Attempt {
			return l.finish(job, r, true) == nil
		}
	}
	return false
}

// settleLeft writes that a tick is left out that was asked for: a node that has voted for it would have the next leader
// take it for a run under way.
func (l *loop) settleLeft(c claim) {
	record := c.record
	record.Slot, record.Run, record.Attempt = c.left.slot, c.left.run, 1
	l.writeGivenUp(c.entry.job.Name, record)
}

// settleGivenUp writes and tells that a run by hand was given up.
func (l *loop) settleGivenUp(c claim) {
	job := c.entry.job.Name
	l.writeGivenUp(job, c.record)
	l.log.Warn("run by hand given up", zap.String("job", job), zap.Time("tick", c.slot.At), zap.Error(errGivenUp))
	l.s.hooks.missed(job, 1, errGivenUp.Error())
}

func (l *loop) writeGivenUp(job string, record register.Record) {
	record.State, record.End, record.Err = register.Missed, record.Start, errGivenUp.Error()
	record.Jumped, record.From, record.CaughtUp = 0, time.Time{}, false
	if err := l.finish(job, record, true); err != nil {
		l.log.Warn("it could not be written that a claim was given up: the next leader may take it for a lost run",
			zap.String("job", job), zap.Time("tick", record.Slot.At), zap.Error(err))
	}
}

// notRun tells of a tick that was claimed in order not to be run.
func (l *loop) notRun(c claim) {
	l.tellJumped(c)
	job := c.entry.job.Name
	l.log.Info("tick not run", zap.String("job", job), zap.Time("tick", c.slot.At),
		zap.String("reason", c.record.Err))
	if c.record.State == register.Missed {
		l.s.hooks.missed(job, 1, c.record.Err)
		return
	}
	l.s.hooks.finished(recordOf(job, c.record))
}

// tellJumped tells of the ticks that a claim leaves out.
func (l *loop) tellJumped(c claim) {
	if c.record.Jumped == 0 {
		return
	}
	job := c.entry.job.Name
	l.log.Warn("ticks are not made up for", zap.String("job", job), zap.Int("ticks", c.record.Jumped),
		zap.Time("from", c.record.From), zap.Time("before", c.slot.At), zap.String("reason", c.why))
	l.s.hooks.missed(job, c.record.Jumped, c.why)
}
