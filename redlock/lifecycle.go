package redlock

import (
	"context"
	"errors"
	"sync"
	"time"
)

// lifecycle closes a Locker in order. First, nothing more starts and waiting calls return. Then the calls under way end.
// Then the background work finishes, or is stopped.
type lifecycle struct {
	open context.Context // done when Close starts
	shut context.CancelFunc
	work context.Context // done when Close no longer waits for background work
	stop context.CancelFunc

	mu    sync.Mutex     // held while something starts and while Close starts, so that nothing starts afterwards
	calls sync.WaitGroup // of the user, each ends within the node timeout
	tasks sync.WaitGroup // in the background
	tells sync.WaitGroup // the goroutines that call functions of the application, which may wait for Close themselves
	first []func()       // tasks that the first call starts: a Locker that is not used needs no Close
}

func newLifecycle() *lifecycle {
	c := new(lifecycle)
	c.open, c.shut = context.WithCancel(context.Background())
	c.work, c.stop = context.WithCancel(context.Background())
	return c
}

func (c *lifecycle) isClosed() bool { return c.open.Err() != nil }

// begin counts a call of the user, which must end with calls.Done. It returns false after Close has started.
func (c *lifecycle) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed() {
		return false
	}
	for _, task := range c.first {
		c.tasks.Go(task)
	}
	c.first = nil
	c.calls.Add(1)
	return true
}

// start runs fn in the background; Close waits for it. fn must return soon after work is done. start returns false,
// without running fn, after Close has started.
func (c *lifecycle) start(fn func()) bool { return c.startIn(&c.tasks, fn) }

// startTelling is start for fn that calls a function of the application, until open is done. Close waits for it for a moment
// only, and reports it.
func (c *lifecycle) startTelling(fn func()) bool { return c.startIn(&c.tells, fn) }

func (c *lifecycle) startIn(group *sync.WaitGroup, fn func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed() {
		return false
	}
	group.Go(fn)
	return true
}

// close stops calls and tasks from starting. It returns false if it was called before.
func (c *lifecycle) close() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed() {
		return false
	}
	c.shut()
	return true
}

// finish waits for the background work until ctx is done, and then stops it. It returns an error if that, or a function of
// the application, has not ended within that time.
func (c *lifecycle) finish(ctx context.Context, within time.Duration) error {
	done, told := make(chan struct{}), make(chan struct{})
	go func() { // ends with the tasks, which end soon after stop; finish waits for it or returns an error
		c.tasks.Wait()
		close(done)
		c.tells.Wait()
		close(told)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	c.stop()
	select {
	case <-told:
		return nil
	case <-time.After(within):
	}
	select {
	case <-done:
		return errors.New("redlock: close: a function given to OnNode or Extension has not returned")
	default:
		return errors.New("redlock: close: a connection attempt to subscribe to a node " +
			"cannot be canceled: it ends when its client gives up")
	}
}
