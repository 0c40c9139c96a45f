package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/retry"
)

func TestBackoff_StaysInItsRangeAndGrows(t *testing.T) {
	b := retry.Backoff{Min: 10 * time.Millisecond, Max: 300 * time.Millisecond}
	for n, top := range map[int]time.Duration{1: 20, 2: 40, 4: 160, 5: 300, 1000: 300} {
		longest := time.Duration(0)
		for range 2000 {
			d := b.After(n)
			if d < b.Min || d > top*time.Millisecond {
				t.Fatalf("failure %d: %v", n, d)
			}
			longest = max(longest, d)
		}
		if longest < top*time.Millisecond*3/4 {
			t.Errorf("failure %d: never above %v", n, longest)
		}
	}
	if d := (retry.Backoff{Min: 5, Max: 5}).After(3); d != 5 {
		t.Errorf("a range of one value: %v", d)
	}
}

func TestWithin_IsBoundedInNumberAndTime(t *testing.T) {
	final, passing := errors.New("final"), errors.New("passing")
	b := retry.Backoff{Min: 10 * time.Millisecond, Max: 20 * time.Millisecond}
	for name, test := range map[string]struct {
		fn    func(ctx context.Context, call int) error
		calls int
		err   error
		took  time.Duration // at most
	}{
		"success": {func(context.Context, int) error { return nil }, 1, nil, 0},
		"second try": {func(_ context.Context, call int) error {
			if call == 2 {
				return nil
			}
			return passing
		}, 2, nil, 20 * time.Millisecond},
		"all fail": {func(context.Context, int) error { return passing }, 4, passing, 60 * time.Millisecond},
		"final":    {func(context.Context, int) error { return final }, 1, final, 0},
		"each hangs until its share is over": {func(ctx context.Context, _ int) error {
			<-ctx.Done()
			return ctx.Err()
		}, 4, context.DeadlineExceeded, time.Second},
		"one ignores its context": {func(context.Context, int) error {
			time.Sleep(2 * time.Second)
			return passing
		}, 1, passing, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, call := time.Now(), 0
				calls, err := retry.Within(t.Context(), began.Add(time.Second), 4, b,
					func(ctx context.Context) error {
						call++
						return test.fn(ctx, call)
					}, final)
				if calls != test.calls || call != calls || !errors.Is(err, test.err) {
					t.Errorf("%d calls, %v", calls, err)
				}
				if took := time.Since(began); took > test.took {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

func TestWithin_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		calls, err := retry.Within(ctx, began.Add(time.Hour), 5,
			retry.Backoff{Min: time.Minute, Max: time.Minute},
			func(context.Context) error { return errors.New("no") })
		if calls != 1 || err == nil || time.Since(began) != 100*time.Millisecond {
			t.Errorf("%d calls, %v, after %v", calls, err, time.Since(began))
		}
	})
}
