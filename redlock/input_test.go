package redlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// Each call is refused before any node is asked, with an error that has all problems. Those of New are in another table.
func TestBadInput_IsRefusedAtTheCall(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		ctx, before := t.Context(), c.Asked()
		work := func(context.Context, *redlock.Lease) error { t.Error("it ran"); return nil }
		calls := map[string]func(name string, opts ...redlock.AcquireOption) error{
			"Acquire": func(name string, opts ...redlock.AcquireOption) error {
				_, err := l.Acquire(ctx, name, opts...)
				return err
			},
			"TryAcquire": func(name string, opts ...redlock.AcquireOption) error {
				_, err := l.TryAcquire(ctx, name, opts...)
				return err
			},
			"Do": func(name string, opts ...redlock.AcquireOption) error { return l.Do(ctx, name, work, opts...) },
		}
		type options = []redlock.AcquireOption
		extended := func(e redlock.Extension) options { return options{redlock.WithAutoExtend(e)} }
		for input, test := range map[string]struct {
			name string
			opts options
			want []string
		}{
			"no name":      {"", nil, []string{"lock name is empty"}},
			"a long name":  {strings.Repeat("n", 201), nil, []string{"has 201 bytes, it may have 200"}},
			"invisible":    {"a\tb", nil, []string{`lock name "a\tb"`, "invisible"}},
			"white space":  {" a", nil, []string{"white space"}},
			"not UTF-8":    {"\xff", nil, []string{"valid UTF-8"}},
			"a short ttl":  {"x", options{redlock.WithLeaseTTL(99 * time.Millisecond)}, []string{"lease ttl 99ms must be within 100ms and max ttl 10s"}},
			"a long ttl":   {"x", options{redlock.WithLeaseTTL(time.Minute)}, []string{"lease ttl 1m0s must be within"}},
			"a long value": {"x", options{redlock.WithValue(strings.Repeat("v", 4097))}, []string{"value has 4097 bytes, it may have 4096"}},
			"often":        {"x", extended(redlock.Extension{Every: nodeTimeout}), []string{"extension every 200ms must be above node timeout 200ms"}},
			"rarely":       {"x", extended(redlock.Extension{Every: 9900 * time.Millisecond}), []string{"must be below lease ttl 10s less drift: 9.898s"}},
			"attempts":     {"x", extended(redlock.Extension{Attempts: -1}), []string{"extension attempts -1 must be at least 1"}},
			"a nil option": {"x", options{nil}, []string{"option ", "is nil"}},
			"all of it at once": {"", options{redlock.WithLeaseTTL(-1), nil, redlock.WithValue(strings.Repeat("v", 5000)),
				redlock.WithAutoExtend(redlock.Extension{Every: -1, Attempts: -2})},
				[]string{"name is empty", "lease ttl -1ns", "is nil", "5000 bytes", "every -1ns", "attempts -2"}},
		} {
			for method, call := range calls {
				err := call(test.name, test.opts...)
				if !errors.Is(err, redlock.ErrConfig) {
					t.Errorf("%s, %s: got %v", input, method, err)
				}
				want.Text(t, err, test.want...)
			}
		}
		_, err := l.Holder(ctx, "")
		want.Err(t, err, redlock.ErrConfig)
		err = l.Do(ctx, "x", nil)
		want.Err(t, err, redlock.ErrConfig)
		want.Text(t, err, "the function is nil")
		func() {
			defer func() {
				if recover() == nil {
					t.Error("OnNode takes a function that is nil, which would panic later")
				}
			}()
			l.OnNode(nil)
		}()
		if asked := c.Asked() - before; asked > 0 {
			t.Errorf("%d requests to nodes", asked)
		}
	})
}
