package checkin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/redlockfx/redlockfx/internal/retry"
)

const (
	attempts = 3
	timeout  = 10 * time.Second
)

var (
	backoff = retry.Backoff{Min: time.Second, Max: 5 * time.Second}
	errURL  = errors.New("its URL is not an http or https URL")
)

// run sends events until Close was called and none waits, or ctx ends.
func (c *Client) run(ctx context.Context) {
	defer close(c.done)
	defer c.cancel()
	if t, ok := c.config.Transport.(interface{ CloseIdleConnections() }); ok {
		defer t.CloseIdleConnections()
	}
	for range c.wake {
		c.flush(ctx)
	}
	c.flush(ctx)
}

func (c *Client) flush(ctx context.Context) {
	for ctx.Err() == nil {
		c.mu.Lock()
		if len(c.waiting) == 0 {
			c.mu.Unlock()
			return
		}
		e, dropped := c.waiting[0], c.dropped
		c.waiting, c.dropped = c.waiting[1:], 0
		c.mu.Unlock()
		if dropped > 0 {
			c.config.Log.Warn("dropped check-ins, too many wait", "dropped", dropped, "limit", maxWaiting)
		}
		if err := c.send(ctx, e); err != nil {
			c.mu.Lock()
			c.unsent++
			c.mu.Unlock()
			c.config.Log.Warn("failed to send a check-in, it is dropped", "job", e.job, "error", err)
		}
	}
}

// send makes up to three attempts. Its errors have no URL.
func (c *Client) send(ctx context.Context, e event) error {
	base := c.config.URL(e.job)
	if base == "" {
		return nil
	}
	for n := 1; ; n++ {
		again, err := c.try(ctx, base, e)
		if err == nil {
			return nil
		}
		if !again || n == attempts || retry.Sleep(ctx, backoff.After(n)) != nil {
			return fmt.Errorf("attempt %d of %d: %w", n, attempts, err)
		}
	}
}

func (c *Client) try(ctx context.Context, base string, e event) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, err := c.config.Service.request(base, e)
	if err != nil {
		return false, err
	}
	answer, err := c.config.Transport.RoundTrip(r.WithContext(ctx)) // the errors of an http.Client quote URLs
	if err != nil {
		return true, err
	}
	_ = answer.Body.Close()
	if answer.StatusCode/100 == 2 {
		return false, nil
	}
	again = answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode >= 500
	return again, fmt.Errorf("the service answered %d", answer.StatusCode)
}
