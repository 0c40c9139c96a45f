package redlock

import (
	"context"
	"sync"
	"time"
)

// lifecycle closes a Locker in order. First, no more calls start and waiting calls return. Then the calls under way
// end. Then the background work finishes, or is stopped.
type lifecycle struct {
	open context.Context // done when Close starts
	shut context.CancelFunc
	work context.Context // done when Close no longer waits for background work
	stop context.CancelFunc

	calls sync.WaitGroup // of the user, each ends within the node timeout
	tasks sync.WaitGroup // in the background

	mu     sync.Mutex // guards the fields below
	closed bool       // no more calls
	sealed bool       // no more tasks
}

func newLifecycle() *lifecycle {
	c := new(lifecycle)
	c.open, c.shut = context.WithCancel(context.Background())
	c.work, c.stop = context.WithCancel(context.Background())
	return c
}

// begin counts a call of the user, which must end with calls.Done. It returns false after close.
func (c *lifecycle) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.calls.Add(1)
	}
	return !c.closed
}

// start runs fn in the background; finish waits for it. fn must return soon after work is done. start returns false,
// without running fn, if finish has started.
func (c *lifecycle) start(fn func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.sealed {
		c.tasks.Go(fn)
	}
	return !c.sealed
}

func (c *lifecycle) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// close stops further calls from starting. It returns false if it was called before.
func (c *lifecycle) close() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.closed = true
	c.shut()
	return true
}

// finish waits for the background work until ctx is done, and then stops it. It returns false if the work has not ended
// within that time.
func (c *lifecycle) finish(ctx context.Context, within time.Duration) bool {
	c.mu.Lock()
	c.sealed = true
	c.mu.Unlock()

	over := make(chan struct{})
	go func() { // ends with the tasks, which end soon after stop; finish waits for it or returns false
		c.tasks.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-ctx.Done():
	}
	c.stop()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-over:
		return true
	case <-timer.C:
		return false
	}
}
