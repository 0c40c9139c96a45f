package main

import (
	"bytes"
	"errors"
	"regexp"
	"testing"
	"testing/synctest"
	"time"
)

func TestStory_TheTickTakesEffectOnce(t *testing.T) {
	tell(t, true, nil, `pod-1 .* is paused(?s:.*)pod-2 .*attempt 2: committed\n(?s:.*)pod-1 .*a later holder has been there`)
}

func TestStory_TheTickTakesEffectTwiceWithoutFenced(t *testing.T) {
	tell(t, false, errRepeated, `pod-2 .*attempt 2: committed\n(?s:.*)pod-1 .*attempt 1: committed`)
}

// tell runs the story in virtual time.
func tell(t *testing.T, protect bool, end error, writes string) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		err := story(t.Context(), &out, protect)
		if !errors.Is(err, end) || !regexp.MustCompile(writes).Match(out.Bytes()) {
			t.Errorf("want %v at the end, got %v, after\n%s", end, err, &out)
		}
		time.Sleep(2 * time.Second) // go-redis dials in the background for a second more
	})
}
