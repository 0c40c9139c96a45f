package checkin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"

	"github.com/redlockfx/redlockfx/internal/signal"
	"github.com/redlockfx/redlockfx/scheduler"
)

const maxWaiting = 256

// Config says whom to tell.
type Config struct {
	Service Service
	// URL returns the URL of a job's check, or "" for a job that has none. URLs are secrets: no error or log line has one.
	// A user and password before the host are not sent.
	URL func(job string) string
	// Transport sends the requests. The default is a copy of [http.DefaultTransport].
	Transport http.RoundTripper
	// Log gets check-ins that failed or were dropped. The default is [slog.Default].
	Log *slog.Logger
}

// Client sends check-ins until Close.
type Client struct {
	config Config
	wake   signal.Signal
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex // guards the fields below
	waiting []event
	dropped int // since the last report
	unsent  int // after all attempts, or dropped
	closed  bool
}

type event struct {
	kind          kind
	job, id, text string
}

// New returns a Client that sends until Close.
func New(config Config) (*Client, error) {
	var problems []error
	if words[config.Service] == nil {
		problems = append(problems, fmt.Errorf("unknown Service %d", config.Service))
	}
	if config.URL == nil {
		problems = append(problems, errors.New("URL is nil"))
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("checkin: %w", errors.Join(problems...))
	}
	if config.Log == nil {
		config.Log = slog.Default()
	}
	if config.Transport == nil {
		config.Transport = http.DefaultTransport
		if t, ok := config.Transport.(*http.Transport); ok {
			config.Transport = t.Clone()
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &Client{config: config, wake: signal.New(), cancel: cancel, done: make(chan struct{})}
	go c.run(ctx) // owned by c; Close stops it and waits for done
	return c, nil
}

// Hooks returns hooks for [scheduler.WithHooks]. They do not block.
func (c *Client) Hooks() scheduler.Hooks {
	return scheduler.Hooks{
		Started: func(r scheduler.Run) { c.add(event{started, r.Job, id(r.Key()), ""}) },
		Finished: func(r scheduler.Record) {
			switch r.State {
			case scheduler.StateOK:
				c.add(event{succeeded, r.Job, id(r.Key()), r.Err})
			case scheduler.StateFailed, scheduler.StateLost:
				c.add(event{failed, r.Job, id(r.Key()), fmt.Sprintf("%s: %s", r.State, r.Err)})
			case scheduler.StateSkipped, scheduler.StateInterrupted, scheduler.StateCanceled:
				c.add(event{noted, r.Job, id(r.Key()), fmt.Sprintf("%s: %s", r.State, r.Err)})
			}
		},
		Missed: func(job string, ticks int, reason string) {
			c.add(event{failed, job, id(rand.Text()), fmt.Sprintf("missed %d ticks: %s", ticks, reason)})
		},
	}
}

// id returns a UUID of version 8 that is the same for the same key.
func id(key string) string {
	h := sha256.Sum256([]byte(key))
	h[6], h[8] = h[6]&0x0f|0x80, h[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

func (c *Client) add(e event) {
	if _, has := words[c.config.Service][e.kind]; !has {
		return
	}
	if !c.enqueue(e) {
		c.config.Log.Warn("a check-in came after Close and is not sent", "job", e.job)
	}
}

// enqueue returns false after Close.
func (c *Client) enqueue(e event) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.waiting = append(c.waiting, e)
	if len(c.waiting) > maxWaiting {
		oldest := max(0, slices.IndexFunc(c.waiting, func(e event) bool { return e.kind == started || e.kind == noted }))
		c.waiting = slices.Delete(c.waiting, oldest, oldest+1)
		c.dropped++
		c.unsent++
	}
	c.wake.Set()
	return true
}

// Close sends what waits until ctx ends, and returns how many check-ins of this Client were not sent.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		close(c.wake)
	}
	c.mu.Unlock()
	defer context.AfterFunc(ctx, c.cancel)()
	<-c.done
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.unsent + len(c.waiting); n > 0 {
		return fmt.Errorf("checkin: %d check-ins were not sent", n)
	}
	return nil
}
