package redlock

import (
	"errors"
	"testing"

	"github.com/redlockfx/redlockfx/internal/notify"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

// Any answer of a node about locks can be parsed. No number in it is above Lua's limit, and no hold is longer than a
// record can store.
func FuzzReplies(f *testing.F) {
	const clock = "1700000000 250 0123456789abcde "
	f.Add(clock+"y17/3", "id:1:text", "run_id:a\r\nrole:master", "redis_version:7.0.15\r\n")
	f.Add(clock+"h250/17", "id:1:text", "", "")
	f.Add(clock+"h-250/17", "id:1:text", "", "")
	f.Add(clock+"u18446744073709/17", "id:1:text", "", "") // too long for a Duration
	f.Add(clock+"u250 q3 g1000/5 e", "x", "maxmemory:0", "maxmemory_policy:allkeys-lru")
	f.Add(clock+"g18446744073709/9223372036854775807", "", "", "")
	f.Add(clock+"y-5 h-5/-5", "id:1:text", "", "")
	f.Add(clock+"y9223372036854775807/9223372036854775807", ":", "::", "a:99999999999999999999:")
	f.Fuzz(func(t *testing.T, line, a, b, c string) {
		said := func() *quorum.Reply {
			r, err := quorum.ParseReply([]any{line, a, b, c})
			if err != nil {
				t.Skip()
			}
			return &r
		}
		r, err := readReply(said())
		if err == nil && (r.number > maxNumber && !r.queued || r.held && (r.left < 0 || r.left > longestHold)) {
			t.Errorf("%q: %+v", line, r)
		}
		if guard, is := errors.AsType[guardedError](err); is && (guard.left < 0 || r.longest <= 0) {
			t.Errorf("%q: guarded for %v, with leases of %v", line, guard.left, r.longest)
		}
		if s, err := readSwept(said()); err == nil && (s.removed < 0 || s.next < 0) {
			t.Errorf("%q: %+v", line, s)
		}
		_, _ = readExtension(said())
		if n, err := readInspection(said()); err == nil && (n.guard < 0 || n.longest < 0) {
			t.Errorf("%q: %+v", line, n)
		}
		if v, err := parseValue(a); err == nil && v.attempt >= 0 {
			if again, err := parseValue(v.String()); err != nil || again != v {
				t.Errorf("%q is %+v, and again %+v, %v", a, v, again, err)
			}
		}
	})
}

// Any published text can be parsed.
func FuzzMessages(f *testing.F) {
	f.Add("over 1 4 namevalue")
	f.Add("over 2 9223372036854775807 x")
	f.Add("over -1 -1 ")
	f.Fuzz(func(t *testing.T, text string) {
		m := readMessage(notify.Event{Text: text})
		if m != nil && len(m.name)+len(m.value.text) > len(text) {
			t.Errorf("%q: %+v", text, m)
		}
	})
}
