// Package termlog keeps a record of the terms of an election on its nodes, for people: who led, from when, until when. An
// election and its work do not depend on it.
//
//	elector, err := election.New(locker, "billing", election.WithHooks(termlog.Hooks()))
//	...
//	terms, err := termlog.Read(ctx, locker, "billing") // in any process
//
// The nodes keep the newest hundred terms of an election, for 400 days after the last one began.
package termlog

import (
	"context"
	_ "embed" // for the script
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/name"
	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/retry"
	"github.com/redlockfx/redlockfx/redlock"
)

// Record is the nodes' record of a term. Anybody who can write to a node can change it. So base no decision on it, and
// escape Replica before you print it.
type Record struct {
	Token   uint64
	Replica string    // the identity of its leader, as given by election.WithIdentity
	Since   time.Time // when the term began, by the nodes' clock

	// Until is the end of the term if Ended is set, by the nodes' clock. Otherwise it is the last instant at which the leader
	// recorded that the term lasts; zero if there is only the start. Such a leader still leads, or was killed or cut off. If its
	// nodes answered, that was at most [Every] after Until.
	Until time.Time
	Ended bool
}

// Every is how often a leader records that its term lasts.
const Every = 30 * time.Second

// backoff spaces the attempts to record the start of a term.
var backoff = retry.Backoff{Min: 100 * time.Millisecond, Max: time.Minute}

// endWait bounds how long the end of a term waits until it is recorded. It is long enough to send the requests.
const endWait = 5 * time.Millisecond

// Hooks returns hooks that record each term: its start, that it lasts, and its end. They ignore failures, and write no log.
// They hold up the end of a term for a few milliseconds at most, and may be given to several Electors.
func Hooks() election.Hooks {
	var recordings sync.Map // from *election.Term to a channel that is closed when its recording is over
	return election.Hooks{
		Elected: func(t *election.Term) {
			over := make(chan struct{})
			recordings.Store(t, over)
			go func() { // ends at most endWait after the context of the term; Drained, which comes after that, waits for it
				defer close(over)
				record(t)
			}()
		},
		Drained: func(t *election.Term, _ time.Duration, _ bool) {
			if over, ok := recordings.LoadAndDelete(t); ok {
				<-over.(chan struct{})
			}
		},
	}
}

// record records a term on the nodes. It returns at most endWait after the term is over. It calls no hook and no logger,
// because these could hold up the end of the term.
func record(t *election.Term) {
	q := inside.Of(t.Elector().Locker()).Quorum
	r, ok := recordStart(t, q)
	if !ok {
		return
	}
	for retry.Sleep(t.Context(), Every) == nil {
		r.Until = r.Since.Add(time.Since(t.Since()))
		_, _ = ask(t.Context(), q, asking, r.call(t))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), endWait)
	defer cancel()
	// The process may have been paused beyond the end of the term.
	r.Until = r.Since.Add(min(time.Since(t.Since()), t.Deadline().Sub(t.Since())))
	r.Ended = true
	_, _ = ask(ctx, q, asking, r.call(t))
}

const asking = "termlog: record a term"

// recordStart records the start of a term, and returns the record when a quorum of nodes has it. It returns false if the term ends
// before that.
func recordStart(t *election.Term, q *quorum.Quorum) (r Record, ok bool) {
	locker := t.Elector().Locker()
	clock := inside.Of(locker).Clock
	ctx, began := t.Context(), clock.Now()
	known := false // whether the start is known by the nodes' clock; all attempts write the same record
	for failures := 1; ; failures++ {
		if now, ok := locker.Time(); ok && !known {
			known = true
			r = Record{Token: t.Token(), Replica: t.Elector().Identity(), Since: now.Add(-clock.Now().Sub(began))}
		}
		if known {
			if _, err := ask(ctx, q, asking, r.call(t)); err == nil {
				return r, true
			}
		}
		if retry.Sleep(ctx, backoff.After(failures)) != nil {
			return r, false
		}
	}
}

var (
	//go:embed record.lua
	recordSource string
	recordScript = quorum.NewScript("record", recordSource, func(*quorum.Reply) (none struct{}, err error) {
		return none, nil
	}).Optional() // the Redis user may lack the permissions for it
)

// call returns a call that records a term and replaces an earlier record of it.
func (r Record) call(t *election.Term) quorum.Call[struct{}] {
	lasted := ""
	if !r.Until.IsZero() {
		lasted = fmt.Sprintf("+%d", r.Until.Sub(r.Since).Microseconds())
	}
	if r.Ended {
		lasted += "."
	}
	text := fmt.Sprintf("%d %d%s %s", r.Token, r.Since.UnixMicro(), lasted, r.Replica)
	args := arguments{strconv.FormatUint(r.Token, 10), text}
	return recordScript.Command(1, args, key(t.Elector().Locker(), t.Elector().Name())).Call(nil)
}

type arguments []any

func (a arguments) AppendArgs(_ int, args []any) []any { return append(args, a...) }

// key returns the key of the records of an election.
func key(locker *redlock.Locker, election string) string {
	return name.Key(locker.Settings().KeyPrefix, "terms", election)
}
