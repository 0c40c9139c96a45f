package redlock

import (
	"context"
	"sync"
	"time"
)

// lifecycle is the end of a Locker, in its order: no more calls begin and what waits returns; the calls under way end; the
// work in the background finishes, or is stopped.
type lifecycle struct {
	open context.Context // done when Close begins
	shut context.CancelFunc
	work context.Context // done when Close no longer waits for the work in the background
	stop context.CancelFunc

	calls sync.WaitGroup // of the user, each over by the node timeout
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

// begin counts a call of the user, which ends with calls.Done; false after close.
func (c *lifecycle) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.calls.Add(1)
	}
	return !c.closed
}

// start runs fn in the background until it returns, which it must soon once work is done; finish waits for it. false, and
// nothing is run, when finish waits for no more of it.
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

// close lets no more calls begin; false if it was done before.
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

// finish waits for the work in the background until ctx is done, and then ends it; false: it has not ended in that time.
func (c *lifecycle) finish(ctx context.Context, within time.Duration) bool {
	c.mu.Lock()
	c.sealed = true
	c.mu.Unlock()

	over := make(chan struct{})
	go func() { // ends with the tasks, and these soon after stop; finish waits for it, or says that it has not ended
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
