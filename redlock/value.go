package redlock

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
)

// value is who holds a lock, as its record has it: who asked, in which attempt, and the user's own text, so that
// redis-cli shows a person who holds a lock. Ownership is equality of the whole encoded string.
type value struct {
	contender string // new for every acquisition, so that a hold that has ended can never be mistaken
	attempt   int    // of this acquisition, from 1
	text      string // WithValue
}

func newContenderID() string { return rand.Text() }

func (v value) String() string {
	return v.contender + ":" + strconv.Itoa(v.attempt) + ":" + v.text
}

// parseValue reads a value back. Something that is not ours is an error that says what it is: to guess would be to break
// another program's lock.
func parseValue(s string) (value, error) {
	contender, rest, ok1 := strings.Cut(s, ":")
	number, text, ok2 := strings.Cut(rest, ":")
	attempt, err := strconv.Atoi(number)
	if !ok1 || !ok2 || err != nil {
		return value{}, recordError(fmt.Sprintf("the lock is held by %.40q, which this library did not write", s))
	}
	return value{contender: contender, attempt: attempt, text: text}, nil
}
