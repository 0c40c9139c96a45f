package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// released is the cause of a lease that was given up by its holder, worded when somebody reads it.
type released struct{ lease *Lease }

func (e released) Error() string { return fmt.Sprintf("%v: lease %q", ErrReleased, e.lease.name) }
func (e released) Unwrap() error { return ErrReleased }

// What those who wait are told before the value that is gone: a hold is over, or an attempt has failed that may have
// looked like one. They ask at once after the former, and after a pause after the latter: failures would go on without a
// pause where they have one cause. One node has the first of those who wait ask; on the others these are told also, for the
// case that it does not. Where more wait than were told, the node is asked again soon: all who were told may be gone. That,
// and what follows a message, frees no lock.
var (
	tellNobody = ""
	tellOver   = "over"
	tellAlso   = "also"
	tellFailed = "failed"
	tellNext   = "next"
	tellAgain  = "again"
)

// Release gives the lock up on every node. It works with a ctx that is already done, and returns when a majority has
// answered, at the latest at the node timeout; what is late is removed in the background. nil: the lease was valid until
// Release, and a majority of nodes no longer has it. [ErrExpired], [ErrLost]: it had ended before. [ErrNoQuorum]: not
// known; it is removed when the nodes answer again, or runs out. A lease that was abandoned is left to run out:
// [ErrReleased]. A second Release returns what the first did.
func (s *Lease) Release(ctx context.Context) error {
	s.once.Do(func() {
		s.mu.Lock()
		ended := s.heldLocked()
		s.endLocked(released{s})
		s.mu.Unlock()

		if s.locker.begin() {
			defer s.locker.calls.Done()
		}
		s.released = s.releaseNodes(context.WithoutCancel(ctx), ended)
	})
	return s.released
}

// releasing is one call that frees a lock.
type releasing struct {
	field, value string
	tell         *string // on most nodes
	teller       int     // the one where it is tellOver instead; -1: none
}

func (r *releasing) AppendArgs(node int, args []any) []any {
	return append(args, &r.field, &r.value, r.tells(node))
}

func (r *releasing) tells(node int) *string {
	if node == r.teller {
		return &tellOver
	}
	return r.tell
}

// Name has an acquisition that follows a release behind it on each node.
func (r *releasing) Name() string { return r.field }

// releaseNodes frees the lock on every node. ended is why the lease was over before, if it was. Whether it was is known
// from our own clock, not from who finds the record: a request may arrive twice, and others may hold the lock by then.
func (s *Lease) releaseNodes(ctx context.Context, ended error) error {
	l := s.locker
	r := &releasing{s.field, s.value, &tellAlso, l.firstOf(s.name)}
	call := l.commands.release.Call(r)
	round, err := quorum.AskAfter(ctx, l.quorum, call, l.isReleased, s.afterSets)
	if err != nil {
		return fmt.Errorf("redlock: release %q: %w", s.name, err)
	}
	round.Then(func(i int, a answer) {
		if a.Err == nil && !a.Value.held && a.Value.number > 0 {
			l.noteWaiting(s.name, i)
		}
		if i == r.teller || a.Value.number > 0 {
			s.follow(r, i, round.Answers())
		}
		if errors.Is(a.Err, quorum.ErrClosed) {
			return
		}
		if late, notAfter := s.mayBeSet(i); late || a.Err != nil {
			l.janitors[i].add(leftover{
				field: s.field, value: s.value, until: l.clock.Now().Add(s.ttl), tell: r.tells(i),
				sure: !late, notAfter: notAfter,
			})
		}
	})

	l.deliverOurs(s.name, s.value)
	answers := round.Answers()
	switch {
	case gone(answers) >= l.need:
		return ended
	case l.isClosed():
		return fmt.Errorf("%w: release %q: it runs out by %s", ErrClosed, s.name,
			s.Deadline().Format(time.StampMilli))
	}
	return l.failed("release", s.name, answers, untimed, ErrNoQuorum, nil)
}

// follow looks after those who wait on a node that has just answered: the teller, and then the others that list more than it.
func (s *Lease) follow(r *releasing, answered int, answers []answer) {
	if !answers[r.teller].Over {
		return
	}
	for i, a := range answers {
		more := a.Over && a.Value.number > answers[r.teller].Value.number
		if (i == answered || r.teller == answered) && (i == r.teller || more) {
			s.locker.janitors[i].follow(leftover{field: s.field, value: s.value, tell: r.tells(i)}, a)
		}
	}
}

// isReleased reports that the outcome of a release is decided.
func (l *Locker) isReleased(answers []answer) bool {
	open := 0
	for i := range answers {
		if !answers[i].Over {
			open++
		}
	}
	n := gone(answers)
	return n >= l.need || n+open < l.need
}

// gone counts the nodes that do not have the lock as ours any more.
func gone(answers []answer) int {
	n := 0
	for i := range answers {
		if answers[i].Over && answers[i].Err == nil && !isTwin(i, answers) {
			n++
		}
	}
	return n
}
