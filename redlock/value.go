package redlock

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
)

// value identifies the holder of a lock in its record: the acquisition, the attempt, and the user's own text, so that
// redis-cli shows a person who holds the lock. A lock is ours only if the whole encoded string is equal.
type value struct {
	contender string // new for every acquisition, so that it never matches an earlier hold
	attempt   int    // of this acquisition, from 1
	text      string // WithValue
}

func newContenderID() string { return rand.Text() }

func (v value) String() string {
	return v.contender + ":" + strconv.Itoa(v.attempt) + ":" + v.text
}

// parseValue parses a value. If the value is not ours, it returns an error that says so: guessing could break another
// program's lock.
func parseValue(s string) (value, error) {
	contender, rest, ok1 := strings.Cut(s, ":")
	number, text, ok2 := strings.Cut(rest, ":")
	attempt, err := strconv.Atoi(number)
	if !ok1 || !ok2 || err != nil {
		return value{}, recordError(fmt.Sprintf("the lock is held by %.40q, which this library did not write", s))
	}
	return value{contender: contender, attempt: attempt, text: text}, nil
}
