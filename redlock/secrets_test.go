package redlock_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlockfx/redlockfx/internal/testkit/secret"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// Wherever in a URL a password was typed, nothing that a Locker returns or prints contains a part of it.
func TestOpen_NeverRepeatsAPasswordInAnyPlace(t *testing.T) {
	secret.Check(t, func(t *rapid.T, s secret.Mistyped) {
		nodes := s.Among("b:1", "c:1")
		shown := map[string]string{}
		_, err := redlock.ClientOptions(s.URL)
		shown["ClientOptions"] = fmt.Sprint(err)
		_, err = redlock.Open([]string{s.URL, s.URL}, redlock.WithTTL(-1))
		shown["Open, refused"] = fmt.Sprint(err)
		if l, err := redlock.Open(nodes); err != nil {
			shown["Open"] = err.Error()
		} else {
			text, err := json.Marshal([]any{l})
			shown["Locker"] = fmt.Sprintf("%v %+v %#v %s %v %+v", l, l, l, text, err, l.Settings())
			if err := l.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for how, text := range shown {
			if part := s.In(text); part != "" {
				t.Fatalf("%q: %s shows %q: %s", s.URL, how, part, text)
			}
		}
	})
}

// All parts of these lists look like addresses, and a part of the password looks like a host, which errors quote.
func TestOpen_RefusesAListThatWasSplitInAPassword(t *testing.T) {
	for _, list := range []string{
		"redis://locks:77,S3cretPw,x:y@r1:6379", "locks:77,S3cretPw,x:y@r1:6379", "redis://u:p@S3cretPw,x:y@r1:6379,z:z@r2:6379",
		"redis://u:p@S3cretPw,x:y@r1:6379,redis://u:p@r2:6379", "redis://u:p@S3cretPw,x:y@r1:6379",
		"redis://u:p@a:1,redis://locks:77,x:y@r1:6379", "redis://u:p@a:1,redis://u:p@b:1,redis://locks:77,w@c:1",
	} {
		l, err := redlock.Open(strings.Split(list, ","), redlock.WithNodeTimeout(10*time.Millisecond))
		if err == nil {
			_, err = l.TryAcquire(t.Context(), "x")
		}
		if !errors.Is(err, redlock.ErrConfig) || strings.Contains(strings.ToLower(err.Error()), "s3cret") || strings.Contains(err.Error(), "77") {
			t.Errorf("%s: got %v", list, err)
		}
	}
	// A list in which one node has no password is refused as well; the error says what to do.
	_, err := redlock.Open([]string{"redis://u:p@r1", "redis://u:p@r2", "redis://r3"})
	want.Text(t, err, "of the 3 addresses only some have a user and a password", "write %2C", "give it one, or pass clients of your own to New")
	for _, list := range []string{"r1,r2,r3", "redis://r1,r2,rediss://r3", "u:p@r1,u:p@r2,u:p@r3", "redis://u:p@r1,redis://u:q@r2,redis://:r@r3"} {
		l, err := redlock.Open(strings.Split(list, ","))
		if err != nil {
			t.Errorf("%s: got %v", list, err)
			continue
		}
		want.NoError(t, l.Close(t.Context()))
	}
}

func TestClientOptions_RefuseWhatIsNoAddress(t *testing.T) {
	for _, u := range []string{
		"redis://locks:/S3cretPassw0rd@r1:6379", "redis://locks:2024/S3cretPassw0rd@r1:6379", "redis://locks:77#S3cret@r1",
		"redis://locks:77?S3cret@r1", "password=S3cretPassw0rd=", "redis://locks:77#S3cret", "redis://locks:77/S3cret",
		"S3cret://r1:6379", "redis://S3cret@r1:6379", "redis://r1:77777", "redis://r1:0", "redis://r1?password=S3cret",
	} {
		_, err := redlock.ClientOptions(u)
		if !errors.Is(err, redlock.ErrConfig) {
			t.Errorf("%s: got %v", u, err)
		} else if strings.Contains(strings.ToLower(err.Error()), "s3cret") || strings.Contains(err.Error(), "locks") {
			t.Errorf("%s: the error shows a part of it: %v", u, err)
		}
	}
	for u, addr := range map[string]string{
		"r1": "r1:6379", "r_1.svc-a:1": "r_1.svc-a:1", "redis://[::1]:7": "[::1]:7", "rediss://u:p@10.0.0.1": "10.0.0.1:6379",
		"redis://:p%2F%40@r1:1/2": "r1:1",
	} {
		if o, err := redlock.ClientOptions(u); err != nil || o.Addr != addr {
			t.Errorf("%s: got %v, %v", u, o, err)
		}
	}
}
