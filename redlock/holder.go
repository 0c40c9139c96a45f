package redlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/name"
	"github.com/redlockfx/redlockfx/internal/notify"
	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/retry"
	"github.com/redlockfx/redlockfx/internal/signal"
)

// Holder is who holds a lock.
type Holder struct {
	Value   string    // as set by WithValue
	Token   uint64    // of its lease; may be larger if a minority of nodes is unreachable
	Expires time.Time // when a majority no longer has it, unless it is extended
}

// Holder asks all nodes who holds the lock called name, without changing anything. The answer may be outdated when it
// returns. The error is [ErrVacant] if no majority names the same holder, or [ErrNoQuorum] if too few nodes answered.
func (l *Locker) Holder(ctx context.Context, lock string) (Holder, error) {
	if err := name.Check("lock name", lock); err != nil {
		return Holder{}, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	asked := time.Now()
	round, err := quorum.Ask(ctx, l.quorum, l.commands.holder.Call(constants{fieldOf(lock)}), l.jury.agreed)
	if err != nil {
		return Holder{}, fmt.Errorf("redlock: holder of %q: %w", lock, err)
	}
	answers := round.Answers()
	named := mostNamed(answers)
	if len(named) >= l.need {
		h := Holder{Value: named[0].value.text}
		left := make([]time.Duration, len(named))
		for i, r := range named {
			left[i] = r.left
		}
		h.Token, _ = tokenOf(named, l.need)
		slices.Sort(left)
		h.Expires = asked.Add(left[len(left)-l.need])
		return h, nil
	}
	if l.isClosed() {
		return Holder{}, fmt.Errorf("%w: holder of %q", ErrClosed, lock)
	}
	return Holder{}, l.jury.noHolder(lock, answers, len(named))
}

// noHolder returns the error if no majority names the same holder. most is how many nodes name the one named most
// often.
func (j *jury) noHolder(lock string, answers []answer, most int) error {
	e := &QuorumError{Op: "holder of", Name: lock, Size: j.size, Need: j.need, kind: ErrVacant}
	silent := 0
	for i, a := range answers {
		switch {
		case a.Err != nil:
			silent++
			e.Nodes = append(e.Nodes, NodeError{j.nodes.Addr(i), a.Err})
		case a.Value.held:
			e.Nodes = append(e.Nodes, NodeError{j.nodes.Addr(i), j.leases.heldError(a.Value)})
		default:
			e.Got++ // this node says that nobody holds it
		}
	}
	if e.Got < j.need && most+silent >= j.need {
		e.kind, e.Got = ErrNoQuorum, j.size-silent
	}
	return e
}

// agreed reports whether a majority names nobody, or names the same holder and token.
func (j *jury) agreed(answers []answer) bool {
	vacant := 0
	for _, a := range answers {
		if a.Over && a.Err == nil && !a.Value.held {
			vacant++
		}
	}
	_, sure := tokenOf(mostNamed(answers), j.need)
	return vacant >= j.need || sure
}

// tokenOf returns the token of the holder that these replies name: the number on which as many agree as needed. A node
// whose answer to the grant came too late to count may be ahead of it, and a node that missed the grant behind. If too
// few nodes answer to tell, tokenOf returns the largest number, and false.
func tokenOf(named []reply, need int) (token uint64, sure bool) {
	for _, r := range named {
		same := 0
		for _, other := range named {
			if other.number == r.number {
				same++
			}
		}
		if same >= need {
			return r.number, true
		}
		token = max(token, r.number)
	}
	return token, false
}

// mostNamed returns the replies of the nodes that name the most frequent holder.
func mostNamed(answers []answer) []reply {
	votes := make(map[value][]reply, 1)
	var most []reply
	for i, a := range answers {
		if !a.Over || a.Err != nil || !a.Value.held || twinOf(i, answers) >= 0 {
			continue
		}
		v := a.Value.value
		votes[v] = append(votes[v], a.Value)
		if len(votes[v]) > len(most) {
			most = votes[v]
		}
	}
	return most
}

// onHolder is [inside.Parts.OnHolder].
//
// The nodes report releases. While nobody has the lock, it polls, with pauses of up to TTL/20; otherwise it polls when the
// holder's lease must have run out. While too few nodes answer to decide, the last holder stands.
func (l *Locker) onHolder(lock string, fn func(inside.Holder)) (stop func()) {
	ctx, stop := context.WithCancel(l.open)
	l.startTelling(func() { l.watch(ctx, lock, fn) }) // ends with stop or when Close starts; Close waits for it for a moment
	return stop
}

func (l *Locker) watch(ctx context.Context, lock string, fn func(inside.Holder)) {
	news, sub := l.follow(l.channelOf(lock))
	defer sub.Close()
	backoff := retry.Backoff{Min: 5 * time.Millisecond, Max: max(l.settings.TTL/20, 50*time.Millisecond)}
	var last Holder
	pace := retry.Pace{Burst: messageBurst, Every: messageInterval}
	called, failures := false, 0
	for {
		h, err := l.Holder(ctx, lock)
		if ctx.Err() != nil {
			return
		}
		pause := time.Until(h.Expires) + rand.N(jitter)
		failures++
		if err == nil {
			failures = 0
		} else {
			pause = backoff.After(failures)
		}
		known := err == nil || errors.Is(err, ErrVacant)
		if known && (!called || h.Value != last.Value || h.Token != last.Token) {
			last, called = h, true
			fn(inside.Holder(h))
		}
		select {
		case <-time.After(max(pause, backoff.Min)):
		case <-news:
			failures = 0
			_ = retry.Sleep(ctx, pace.Next(time.Now())) // the loop checks ctx itself
			select {
			case <-news: // came meanwhile: the next poll is after that, too
			default:
			}
		case <-ctx.Done():
		}
	}
}

// follow subscribes to a channel. news is set when there may have been a message.
func (l *Locker) follow(channel string) (news signal.Signal, sub *notify.Subscription) {
	news = signal.New()
	return news, l.notifier.Subscribe(channel, func(notify.Event) { news.Set() })
}
