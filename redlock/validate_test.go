package redlock_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

func TestValidate_SaysWhatOpenWould(t *testing.T) {
	for name, test := range map[string]struct {
		urls []string
		opts []redlock.Option
		want []string // empty: valid
	}{
		"valid":          {[]string{"a:1", "b:1", "c:1"}, nil, nil},
		"two nodes":      {[]string{"a:1", "b:1"}, []redlock.Option{redlock.WithTTL(1)}, []string{"there are 2", "ttl 1ns"}},
		"same node":      {[]string{"a:1", "a:1", "c:1"}, nil, []string{"nodes 1 and 2 of 3 are the same server a:1"}},
		"not an address": {[]string{"a:1", "b:1", "http://c"}, []redlock.Option{redlock.WithTTL(1)}, []string{"node 3 of 3", "ttl 1ns"}},
	} {
		_, err := redlock.Validate(test.urls, test.opts...)
		l, opened := redlock.Open(test.urls, test.opts...)
		if (err == nil) != (opened == nil) || (err == nil) != (test.want == nil) {
			t.Errorf("%s: Validate says %v, Open %v", name, err, opened)
		}
		want.Text(t, err, test.want...)
		want.Text(t, opened, test.want...)
		if l != nil {
			if err := l.Close(t.Context()); err != nil {
				t.Error(err)
			}
		} else if !errors.Is(err, redlock.ErrConfig) {
			t.Errorf("%s: %v is no ErrConfig", name, err)
		}
	}
}

func TestValidate_WithoutNodesChecksTheRest(t *testing.T) {
	if s, err := redlock.Validate(nil, redlock.WithTTL(time.Minute)); err != nil || s.MaxTTL != time.Minute {
		t.Errorf("%+v, %v", s, err)
	}
	_, err := redlock.Validate(nil, redlock.WithKeyPrefix("{}"))
	want.Err(t, err, redlock.ErrConfig)
}

// A list from the environment that was not split.
func TestOpen_SaysThatAListWasNotSplit(t *testing.T) {
	for _, list := range []string{"a:1,b:2,c:3", "redis://user:S3cret@a:1,redis://user:S3cret@b:2", "redis://a:1, b:2"} {
		_, err := redlock.Open([]string{list})
		want.Err(t, err, redlock.ErrConfig)
		want.Text(t, err, "node 1 of 1", "the node's address has a comma", "%2C")
		if strings.Contains(err.Error(), "S3cret") {
			t.Errorf("it has the password: %v", err)
		}
	}
}
