//go:build unix

package sqltest_test

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/fenced"
)

func TestTx_TakesEffectOnceAndSaysWhoHasDoneIt(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		before := time.Now().Add(-time.Minute)
		db := d.fenced()
		must(t, fenced.Tx(t.Context(), db, holder(7, 1), d.effect("first")))
		for _, token := range []uint64{7, 8} { // the same leader, and the next one
			err := fenced.Tx(t.Context(), db, holder(token, 1), d.effect("again"))
			var done *fenced.DoneError
			if !errors.Is(err, fenced.ErrDone) || !errors.As(err, &done) {
				t.Fatalf("token %d: %v", token, err)
			}
			if done.Token != 7 || done.Replica != "tester" || done.Key != holder(7, 1).Key || done.Resource != "ledger" ||
				done.At.Before(before) || done.At.After(time.Now().Add(time.Minute)) {
				t.Errorf("%+v", done)
			}
		}
		must(t, fenced.Tx(t.Context(), db, holder(8, 2), d.effect("next tick")))
		d.wantEffects(2)
	})
}

func TestTx_RefusesAKeyThatWasUsedForSomethingElse(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.fenced()
		alice, bob := holder(7, 1), holder(8, 1)
		alice.Digest, bob.Digest = "alice", "bob"
		must(t, fenced.Tx(t.Context(), db, alice, d.effect("one")))
		err := fenced.Tx(t.Context(), db, bob, d.effect("another"))
		var reused *fenced.ReusedError
		if !errors.Is(err, fenced.ErrReused) || errors.Is(err, fenced.ErrDone) || !errors.As(err, &reused) ||
			reused.Digest != "bob" || reused.Recorded != "alice" || reused.Replica != "tester" || reused.At.IsZero() {
			t.Errorf("used for something else: %v", err)
		}
		alice.Token = bob.Token
		if err := fenced.Tx(t.Context(), db, alice, d.effect("again")); !errors.Is(err, fenced.ErrDone) {
			t.Errorf("a repetition: %v", err)
		}
		d.wantEffects(1)
	})
}

func TestTx_RefusesASmallerTokenAndSaysBoth(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.fenced()
		must(t, fenced.Tx(t.Context(), db, holder(8, 1), d.effect("newer")))
		err := fenced.Tx(t.Context(), db, holder(7, 2), d.effect("older"))
		var refused *fenced.FencedError
		if !errors.Is(err, fenced.ErrFenced) || !errors.As(err, &refused) {
			t.Fatal(err)
		}
		if refused.Token != 7 || refused.Fence != 8 || refused.Replica != "tester" || time.Since(refused.At).Abs() > time.Minute {
			t.Errorf("%+v", refused)
		}
		if err := fenced.Claim(t.Context(), db, plain(7)); !errors.Is(err, fenced.ErrFenced) {
			t.Errorf("a claim with the smaller token: %v", err)
		}
		if err := fenced.Tx(t.Context(), db, plain(7), d.effect("late")); !errors.Is(err, fenced.ErrFenced) {
			t.Errorf("without a key: %v", err)
		}
		for range 2 {
			must(t, fenced.Tx(t.Context(), db, plain(8), d.effect("with a lease")))
		}
		d.wantEffects(3)
	})
}

func TestTx_KeepsNamesApart(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.fenced()
		for i, name := range []string{"a", "A", "á", "b a", "b  a"} {
			h := holder(uint64(9-i), 1) // smaller ones, which would be refused
			h.Resource = name
			must(t, fenced.Tx(t.Context(), db, h, d.effect("one")))
			h.Key = strings.ToUpper(h.Key)
			must(t, fenced.Tx(t.Context(), db, h, d.effect("another")))
		}
		d.wantEffects(10)
	})
}

// What is half done must not be left, and must not keep the next attempt from its work.
func TestTx_RollsBackWhatDidNotReturnNil(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.fenced()
		mine := errors.New("mine")
		ends := map[string]func(){"panics": func() { panic("of fn") }, "exits": runtime.Goexit}
		for what, end := range ends {
			var over sync.WaitGroup
			over.Go(func() { // waited for below
				defer func() {
					if got := recover(); what == "panics" && got != "of fn" {
						t.Errorf("the panic came out as %v", got)
					}
				}()
				_ = fenced.Tx(t.Context(), db, holder(7, 1), func(ctx context.Context, tx *sql.Tx) error {
					must(t, d.effect(what)(ctx, tx))
					end()
					return nil
				})
				t.Error("Tx returned, though its function did not")
			})
			over.Wait()
		}
		err := fenced.Tx(t.Context(), db, holder(7, 1), func(ctx context.Context, tx *sql.Tx) error {
			return errors.Join(d.effect("fails")(ctx, tx), mine)
		})
		if !errors.Is(err, mine) {
			t.Error(err)
		}
		d.wantEffects(0)
		must(t, fenced.Tx(t.Context(), db, holder(7, 1), d.effect("at last")))
		d.wantEffects(1)
	})
}

func TestTx_EndsWithItsContext(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.fenced()
		cause := errors.New("the lease was lost")
		ctx, cancel := context.WithCancelCause(t.Context())
		err := fenced.Tx(ctx, db, holder(7, 1), func(ctx context.Context, tx *sql.Tx) error {
			must(t, d.effect("late")(ctx, tx))
			cancel(cause)
			return nil
		})
		if !errors.Is(err, cause) {
			t.Errorf("after the function: %v", err)
		}
		err = fenced.Tx(ctx, db, holder(7, 1), d.effect("later"))
		if !errors.Is(err, cause) {
			t.Errorf("before it began: %v", err)
		}
		d.wantEffects(0)
		must(t, fenced.Tx(t.Context(), db, holder(7, 1), d.effect("in time")))
	})
}

// Whatever order tokens and attempts come in, each key takes effect once, and nothing does after a larger token was shown.
func TestTx_OnceAmongManyAtATime(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.fenced()
		const leaders, keys = 4, 12
		var committed [keys]atomic.Int64
		var all sync.WaitGroup
		for token := range leaders {
			for n := range keys {
				all.Go(func() { // waited for below
					err := fenced.Tx(t.Context(), db, holder(uint64(token+1), n), d.effect("one"))
					switch {
					case err == nil:
						committed[n].Add(1)
					case !errors.Is(err, fenced.ErrDone) && !errors.Is(err, fenced.ErrFenced):
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		for n := range committed {
			if got := committed[n].Load(); got != 1 {
				t.Errorf("key %d took effect %d times", n, got)
			}
		}
		d.wantEffects(keys)
	})
}
