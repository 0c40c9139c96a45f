package plain_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/plain"
)

func TestText_HasNothingThatATerminalObeys(t *testing.T) {
	for text, want := range map[string]string{
		"red \x1b[31m\u009b\x7f\tx\u202e\xff ä→":      "red ?[31m???x?? ä→",
		"a\u2066\u200f\U000e0041\u2028\u2029\r\nb 日本": "a???????b 日本",
	} {
		if got := plain.Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// answer is a server's error.
type answer string

func (e answer) Error() string { return string(e) }
func (answer) RedisError()     {}

func TestError_HasNothingThatATerminalObeys(t *testing.T) {
	if err := plain.Error(nil); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"ERR red \x1b[31m", "ERR fine"} {
		server := answer(text)
		err := plain.Error(fmt.Errorf("node: %w", server))
		if !errors.Is(err, server) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q became %q, which wraps it: %v", text, err, errors.Is(err, server))
		}
	}
}

// Redis, Valkey and KeyDB repeat the arguments of a command that they do not know or that was renamed.
func TestError_HasNoArgumentsOfALoginThatTheServerDoesNotKnow(t *testing.T) {
	for _, text := range []string{
		"ERR unknown command 'auth', with args beginning with: 'locks' 'S3cretPw' ",
		"ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `locks`, `S3cretPw`, ",
	} {
		err := plain.Error(fmt.Errorf("failed to authenticate: %w", answer(text)))
		if _, answered := errors.AsType[redis.Error](err); !answered {
			t.Errorf("%q: it is no longer an answer of a server", text)
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%x", "%d"} {
			if shown := fmt.Sprintf(verb, []any{err}); strings.Contains(shown, "S3cretPw") || strings.Contains(shown, "5333637265745077") {
				t.Errorf("%s shows %s", verb, shown)
			}
		}
		if !strings.HasPrefix(err.Error(), "failed to authenticate: ERR unknown command") {
			t.Errorf("%q became %q", text, err)
		}
	}
}

// Whatever a server answers, its words are printed without what a terminal obeys, and it is still an answer.
func FuzzError(f *testing.F) {
	f.Add("ERR red \x1b[31m\u202e\xff")
	f.Add("ERR unknown command 'auth', with args beginning with: 'locks' 'S3cretPw' ")
	f.Fuzz(func(t *testing.T, text string) {
		err := plain.Error(answer(text))
		if strings.ContainsFunc(err.Error(), plain.IsUnsafe) || !utf8.ValidString(err.Error()) {
			t.Errorf("%q became %q", text, err)
		}
		if _, args, has := strings.Cut(err.Error(), ", with args beginning with:"); has {
			t.Errorf("it repeats %q", args)
		}
		if _, answered := errors.AsType[redis.Error](err); !answered {
			t.Errorf("%q is no answer of a server any more", text)
		}
	})
}
