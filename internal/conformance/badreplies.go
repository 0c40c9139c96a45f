package conformance

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlockfx/redlockfx/redlock"
)

// badReplies are replies that no script of this library sends.
var badReplies = map[string]func(p *server.Peer){
	"nil":                   func(p *server.Peer) { p.WriteNull() },
	"a number":              func(p *server.Peer) { p.WriteInt(1) },
	"a string":              func(p *server.Peer) { p.WriteBulk("1") },
	"a status":              func(p *server.Peer) { p.WriteOK() },
	"an empty list":         func(p *server.Peer) { p.WriteLen(0) },
	"a list of lists":       func(p *server.Peer) { p.WriteLen(1); p.WriteLen(0) },
	"no item":               line(""),
	"an odd item":           line("z1"),
	"an item and a half":    line("y1x"),
	"a guard alone":         line("g"),
	"a number beyond all":   line("y99999999999999999999"),
	"a number of next year": line(fmt.Sprintf("y%d", time.Now().AddDate(1, 0, 0).UnixMicro())),
	"a holder without name": line("h1000"),
	"a holder that is none": line("h1000/17", "mine"),
	"an error without text": line("e"),
}

// line writes the start of every reply, an item, and texts.
func line(item string, texts ...string) func(p *server.Peer) {
	return func(p *server.Peer) {
		now := time.Now().UnixMicro()
		p.WriteLen(1 + len(texts))
		p.WriteBulk(fmt.Sprintf("%d %d abc %s", now/1e6, now%1e6, item))
		for _, text := range texts {
			p.WriteBulk(text)
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
			judge("Extend", held.Extend(t.Context()))
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

// halfWay makes the nodes refuse the one write of a grant.
func halfWay(t *testing.T, w *World) {
	p := w.Process(t)
	p.warm(t)
	for _, nodes := range [][]int{w.minority(), w.majority()} {
		for _, i := range nodes {
			w.cluster().SetPreHook(i, func(p *server.Peer, cmd string, args ...string) bool {
				writes := w.records().Writes("x", cmd, args...)
				if writes {
					p.WriteError("OOM command not allowed when used memory > 'maxmemory'.")
				}
				return writes
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
