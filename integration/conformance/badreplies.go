package conformance

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/redlock"
)

// badReplies are replies that no script of this library makes: lists after the node's time, and others.
var badReplies = map[string]func(p *server.Peer){
	"nil":             func(p *server.Peer) { p.WriteNull() },
	"a number":        func(p *server.Peer) { p.WriteInt(1) },
	"a string":        func(p *server.Peer) { p.WriteBulk("1") },
	"a status":        func(p *server.Peer) { p.WriteOK() },
	"an empty list":   func(p *server.Peer) { p.WriteLen(0) },
	"no answer":       list(),
	"a string answer": list("1"),
	"a nil answer":    list(nil),
	"a list of lists": list([]any{[]any{}}),
	"a guard alone":   list(2),
	"a lone layout":   list(5),
	"an odd code":     list(17, 1, 1, 1),

	gone + " by one without a ttl":   list(0, records.SomebodyElse),
	gone + " by a number":            list(0, 17, 1000),
	gone + " for a ttl that is none": list(0, records.SomebodyElse, "soon"),
	gone + " by nil":                 list(0, nil, nil),
	gone + " by what is no value":    list(0, "mine", 1000),
}

// gone is how those are named that tell an extension no more than that the lock is gone.
const gone = "held"

// list writes the node's time and these parts: integers, strings, lists and nil.
func list(parts ...any) func(p *server.Peer) {
	return func(p *server.Peer) {
		p.WriteLen(1 + len(parts))
		p.WriteInt(int(time.Now().UnixMicro()))
		write(p, parts)
	}
}

func write(p *server.Peer, parts []any) {
	for _, part := range parts {
		switch part := part.(type) {
		case int:
			p.WriteInt(part)
		case string:
			p.WriteBulk(part)
		case []any:
			p.WriteLen(len(part))
			write(p, part)
		default:
			p.WriteNull()
		}
	}
}

func malformed(t *testing.T, w *World) {
	p := w.Process(t)
	for what, reply := range badReplies {
		for _, nodes := range [][]int{w.minority(), w.majority()} {
			p.warm(t)
			what := fmt.Sprintf("%s from %d", what, len(nodes))
			held := w.takeAll(t, p, what+", held")
			lost := w.takeAll(t, p, what+", lost")
			for _, i := range nodes {
				w.cluster().SetPreHook(i, func(p *server.Peer, cmd string, args ...string) bool {
					if cmd == "EVALSHA" || cmd == "EVAL" {
						reply(p)
					}
					return cmd == "EVALSHA" || cmd == "EVAL"
				})
			}
			enough := len(nodes) < len(w.majority())
			judge := func(call string, err error) {
				t.Helper()
				if enough && err != nil {
					t.Errorf("%s: %s: %v", what, call, err)
				} else if !enough && !isNoQuorum(err) {
					t.Errorf("%s: %s: got %v, want no quorum", what, call, err)
				}
			}
			_, err := p.TryAcquire(t.Context(), what)
			judge("Acquire", err)
			if !strings.HasPrefix(what, gone) {
				judge("Extend", held.Extend(t.Context()))
			}
			_, err = p.Holder(t.Context(), held.Name())
			judge("Holder", err)
			judge("Release", lost.Release(t.Context()))
			p.Locker.Nodes(t.Context()) // must not panic
			for _, i := range nodes {
				w.cluster().SetPreHook(i, nil)
			}
			if !held.Valid() {
				t.Errorf("%s: it ended a lease", what)
				continue
			}
			if err := held.Extend(t.Context()); err != nil {
				t.Errorf("%s: afterwards: %v", what, err)
			}
		}
	}
}

// halfWay has the nodes refuse the write of the fence, which the script does after it has set the lock.
func halfWay(t *testing.T, w *World) {
	p := w.Process(t)
	p.warm(t)
	for _, nodes := range [][]int{w.minority(), w.majority()} {
		for _, i := range nodes {
			w.cluster().SetPreHook(i, func(p *server.Peer, cmd string, args ...string) bool {
				counts := w.records().Counts("x", cmd, args...)
				if counts {
					p.WriteError("OOM command not allowed when used memory > 'maxmemory'.")
				}
				return counts
			})
		}
		lease, err := p.TryAcquire(t.Context(), "x")
		if len(nodes) < len(w.majority()) {
			w.works(t, p, lease, err)
		} else {
			wantNoQuorum(t, p, err, "OOM", nodes)
		}
		w.left(t, 0, "x")
		for _, i := range nodes {
			w.cluster().SetPreHook(i, nil)
		}
	}
}

func isNoQuorum(err error) bool {
	var q *redlock.QuorumError
	return errors.As(err, &q) && errors.Is(err, redlock.ErrNoQuorum)
}
