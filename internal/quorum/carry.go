package quorum

import (
	"context"
	"time"
)

// carry sends the task on the goroutine of its caller, and returns when it has ended. With one node this saves a third of
// the time of a call: two changes of goroutines. But nobody else can use the node meanwhile, and a call can only end early,
// with ctx, by breaking the connection. So carry returns false, and has done nothing, if others use the node as well, if
// the node did not answer last time, or if its connection has been idle. err is the cause of ctx if that ended the call.
func (n *node) carry(ctx context.Context, t task) (carried bool, err error) {
	w := n.worker
	n.mu.Lock()
	if n.busy || n.closed || n.silent || !n.alone || !w.isOwn() || !w.isWarm() || n.uninspected.Load() {
		n.mu.Unlock()
		return false, nil
	}
	n.busy = true
	n.mu.Unlock()

	after := func() bool { return true }
	if ctx.Done() != nil {
		after = context.AfterFunc(ctx, w.abort)
	}
	w.tasks, w.base, w.carried = append(w.tasks[:0], t), ctx, true
	w.run()
	w.base, w.carried = context.Background(), false
	if !after() {
		<-w.gone
		err = context.Cause(ctx)
	}
	if w.aborted.Load() {
		w.connection.close()
		w.aborted.Store(false)
	}
	if !n.rest() {
		n.mu.Lock()
		n.wakeLocked()
		n.mu.Unlock()
	}
	return true, err
}

// limit ends a carried call that is sent a second time when its caller stops waiting: each time may take the timeout.
func (w *worker) limit(until time.Time) (stop func()) {
	if !w.carried {
		return func() {}
	}
	late := time.AfterFunc(time.Until(until), w.abort)
	return func() {
		if !late.Stop() {
			<-w.gone
		}
	}
}
