package conformance

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
)

// A real server cannot be made to send these replies. Module integration has a test of the words that it does send.
var serverCases = func() []Case {
	cases := []Case{
		{Name: "A majority that refuses the client ends a waiting call at once", Run: refused},
		{Name: "A malformed reply is an error of its node", Run: malformed},
		{Name: "A script that fails half way leaves nothing", Run: halfWay},
	}
	for _, a := range ailments {
		cases = append(cases, Case{
			Name: "A minority that " + a.name + " costs nothing, a majority is named in the error",
			Run:  a.check,
		})
	}
	return cases
}()

// ailment is a problem of a server that can be reached.
type ailment struct {
	name, text string
	befall     func(l *nodetest.Links, nodes ...int)
}

func says(line string) ailment {
	return ailment{"says " + line[:min(len(line), 20)], line, func(l *nodetest.Links, nodes ...int) {
		l.Answer(line, nodes...)
	}}
}

var ailments = []ailment{
	says("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."),
	says("LOADING Redis is loading the dataset in memory"),
	says("READONLY You can't write against a read only replica."),
	says("OOM command not allowed when used memory > 'maxmemory'."),
	says("NOPERM this user has no permissions to run the 'evalsha' command"),
	says("NOAUTH Authentication required."),
	says("MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."),
	says("MOVED 3999 127.0.0.1:1"),
	says("ERR"),
	{"closes the connection after each request", "", (*nodetest.Links).DropReplies},
}

// check makes each call against a minority and a majority that have the ailment.
func (a ailment) check(t *testing.T, w *World) {
	p := w.Process(t)
	for _, nodes := range [][]int{w.minority(), w.majority()} {
		p.warm(t)
		enough := len(nodes) < len(w.majority())
		of := fmt.Sprint(len(nodes), " nodes: ")
		var held []*redlock.Lease
		for i := range 3 {
			held = append(held, w.takeAll(t, p, of+fmt.Sprint(i)))
		}
		a.befall(p.faults(), nodes...)
		judge := func(what string, err error) {
			t.Helper()
			if enough && err != nil {
				t.Errorf("%s%s: %v", of, what, err)
			} else if !enough {
				wantNoQuorum(t, p, err, a.text, nodes)
			}
		}
		var lease *redlock.Lease
		var err error
		w.Takes(t, "Acquire", NodeTimeout, func() { lease, err = p.TryAcquire(t.Context(), of+"new") })
		judge("Acquire", err)
		w.Takes(t, "Extend", NodeTimeout, func() { err = held[0].Extend(t.Context()) })
		judge("Extend", err)
		w.Takes(t, "Holder", NodeTimeout, func() { _, err = p.Holder(t.Context(), of+"0") })
		judge("Holder", err)
		w.Takes(t, "Release", NodeTimeout, func() { err = held[1].Release(t.Context()) })
		judge("Release", err)
		w.Takes(t, "Nodes", NodeTimeout, func() { a.statuses(t, p, nodes) })
		if !held[0].Valid() || !held[2].Valid() {
			t.Errorf("%sit ended leases", of)
		}
		if lease != nil {
			release(t, lease)
		}
		time.Sleep(10 * NodeTimeout)

		p.Heal()
		w.left(t, 0, of+"new", of+"1")
		for _, lease := range []*redlock.Lease{held[0], held[2]} {
			if err := lease.Extend(t.Context()); err != nil {
				t.Errorf("%safterwards: %v", of, err)
			}
			release(t, lease)
		}
		w.left(t, 0, held[0].Name(), held[2].Name())
	}
}

// statuses fails the test unless Nodes has errors for exactly these nodes.
func (a ailment) statuses(t *testing.T, p *Process, sick []int) {
	t.Helper()
	for i, node := range p.Locker.Nodes(t.Context()) {
		if i < len(sick) && !contains(node.Err, a.text) {
			t.Errorf("node %d says %v, want %q", i, node.Err, a.text)
		}
		if i >= len(sick) && node.Err != nil {
			t.Errorf("node %d, which is well: %v", i, node.Err)
		}
	}
}

// C14: rueidislock waits until the caller's deadline and hides the reason. A single such node is like one that is down.
func refused(t *testing.T, w *World) {
	for _, of := range []struct {
		text          string
		refuse, admit func(i int)
		did           bool // a script may have acted before, so Close waits for the removal of its records
	}{
		{
			"NOPERM", func(i int) { w.cluster().Deny(i, "EVALSHA", "EVAL") },
			func(i int) { w.cluster().Deny(i) }, true,
		},
		{
			"NOAUTH", func(i int) { w.cluster().Node(i).RequireAuth("secret") },
			func(i int) { w.cluster().Node(i).RequireAuth("") }, false,
		},
	} {
		p := w.Process(t)
		for _, i := range w.majority() {
			of.refuse(i)
		}
		var err error
		w.Takes(t, "Acquire", NodeTimeout, func() {
			ctx, cancel := context.WithTimeout(t.Context(), awaitLimit)
			defer cancel()
			_, err = p.Acquire(ctx, "x")
		})
		wantNoQuorum(t, p, err, of.text, w.majority())
		if !of.did {
			w.Takes(t, "Close", NodeTimeout, func() { err = p.Close(t.Context()) })
			if err != nil {
				t.Errorf("%s: %v", of.text, err)
			}
		}

		time.Sleep(settled) // until the other nodes have removed that attempt
		of.admit(0)
		p = w.Process(t)
		lease, err := p.TryAcquire(t.Context(), "x")
		w.works(t, p, lease, err)
		of.admit(1)
		w.left(t, 0, "x")
	}
}
