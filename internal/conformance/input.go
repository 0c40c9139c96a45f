package conformance

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/redlockfx/redlockfx/internal/name"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

var inputCases = []Case{
	{Name: "Any valid name and value can be held, read and released", Run: anyInput, Server: language},
	{Name: "An invalid name or value is refused", Run: badInput},
}

// plain hides the test's deadline from rapid: reading it is fatal in a bubble.
type plain struct{ *testing.T }

// redislock TestObtain_metadata, TestObtain_custom_token.
func anyInput(t *testing.T, w *World) {
	p, rival := w.Process(t), w.Process(t)
	valid := func(s string) bool { return name.Check("lock name", s) == nil }
	runes := rapid.Rune().Filter(func(r rune) bool { return valid("a" + string(r) + "a") })
	names := rapid.StringOfN(runes, 1, name.MaxLen, name.MaxLen).Filter(valid)
	values := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.SliceOfN(rapid.Byte(), 4096, 4096),
		rapid.Map(rapid.SampledFrom([]string{
			"", ":", records.Other(""), records.SomebodyElse, "\r\n", "$-1\r\n", "*0\r\n", "\x00", "%s", "]]",
		}), func(s string) []byte { return []byte(s) }))
	rapid.Check(plain{t}, func(t *rapid.T) {
		lock, value := names.Draw(t, "name"), string(values.Draw(t, "value"))
		lease, err := p.TryAcquire(t.Context(), lock, redlock.WithValue(value))
		if err != nil {
			t.Fatal(err)
		}
		if holder, err := rival.Holder(t.Context(), lock); err != nil || holder.Value != value ||
			holder.Token != lease.Token() {
			t.Errorf("the holder of %q is %+v (%v), want %q with token %d",
				lock, holder, err, value, lease.Token())
		}
		if _, err := rival.TryAcquire(t.Context(), lock, redlock.WithValue(value)); !errors.Is(err, redlock.ErrHeld) {
			t.Errorf("taken twice: %v", err)
		}
		if lease.Name() != lock {
			t.Errorf("%q is called %q", lock, lease.Name())
		}
		if err := errors.Join(lease.Extend(t.Context()), lease.Release(t.Context())); err != nil {
			t.Error(err)
		}
		if holder, err := rival.Holder(t.Context(), lock); !errors.Is(err, redlock.ErrVacant) {
			t.Errorf("after the release the holder is %+v, %v", holder, err)
		}
	})
}

func badInput(t *testing.T, w *World) {
	p := w.Process(t)
	for _, lock := range []string{
		"", "\n", "a\x00", "\x7f", "a\u0085", "\xff", "a\xc3", string(make([]byte, name.MaxLen)),
		string([]rune("é")) + string(make([]byte, name.MaxLen)),
	} {
		_, err := p.TryAcquire(t.Context(), lock)
		want.Err(t, err, redlock.ErrConfig)
		_, err = p.Acquire(t.Context(), lock)
		want.Err(t, err, redlock.ErrConfig)
		_, err = p.Holder(t.Context(), lock)
		want.Err(t, err, redlock.ErrConfig)
	}
	_, err := p.TryAcquire(t.Context(), "x", redlock.WithValue(string(make([]byte, 4097))))
	want.Err(t, err, redlock.ErrConfig)
	w.left(t, 0, "x")
}
