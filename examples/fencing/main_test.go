package main

import (
	"bytes"
	"errors"
	"regexp"
	"testing"
	"testing/synctest"
	"time"
)

func TestStory_RefusesTheStaleWrite(t *testing.T) {
	tell(t, true, nil, `pod-1 .*"begun".*: accepted\n(?s:.*)pod-2 .*"begun".*: accepted\n`+
		`(?s:.*)pod-1 .*"done".*: refused, 0 rows\n(?s:.*)pod-2 .*"done".*: accepted\n`)
}

func TestStory_StaleWriteGetsInBeforeTheNewTokenIsShown(t *testing.T) {
	tell(t, false, errAccepted, `pod-1 .*"done".*: accepted\n(?s:.*)pod-2 .*"done".*: accepted\n`)
}

// tell runs the story in virtual time.
func tell(t *testing.T, show bool, end error, writes string) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		if err := story(t.Context(), &out, show); !errors.Is(err, end) || !regexp.MustCompile(writes).Match(out.Bytes()) {
			t.Errorf("want %v at the end, got %v, after\n%s", end, err, &out)
		}
		time.Sleep(2 * time.Second) // go-redis dials in the background for a second more
	})
}
