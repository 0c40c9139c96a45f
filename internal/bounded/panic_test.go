package bounded_test

import (
	"errors"
	"testing"

	"github.com/redlockfx/redlockfx/internal/bounded"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

func TestCall_ReturnsWhatTheRuntimePanicsWith(t *testing.T) {
	var reply []any
	want.Text(t, bounded.Call(func() error { _ = reply[0].(string); return nil }), "cannot be read", "index out of range")
	var text any = 1
	want.Text(t, bounded.Call(func() error { _ = text.(string); return nil }), "cannot be read", "not string")
	length := -1
	want.Text(t, bounded.Call(func() error { _ = make([]byte, length); return nil }), "cannot be read", "len out of range")

	own := errors.New("own")
	want.Err(t, bounded.Call(func() error { return own }), own)
	defer func() {
		if got, ok := recover().(error); !ok || !errors.Is(got, own) {
			t.Errorf("it panicked with %v", got)
		}
	}()
	_ = bounded.Call(func() error { panic(own) })
}
