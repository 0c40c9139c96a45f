package redlock

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
)

// layout is the version that every value of a lock begins with.
const layout = "1"

// value is what a lock's key holds: who asked, in which attempt, and the user's own text, so that
// redis-cli shows a person who holds a lock. Ownership is equality of the whole encoded string.
type value struct {
	contender string // new for every acquisition, so a hold once ended can never be mistaken
	attempt   int    // of this acquisition, from 1
	text      string // WithValue
}

func newContender() string { return rand.Text() }

func (v value) String() string {
	return layout + ":" + v.contender + ":" + strconv.Itoa(v.attempt) + ":" + v.text
}

// parseValue reads a value back. Something that is not ours is an error that says what it is: to
// guess would be to break another program's lock.
func parseValue(s string) (value, error) {
	version, rest, ok := strings.Cut(s, ":")
	if !ok {
		return value{}, fmt.Errorf("the lock's key holds %.40q, which this library did not write", s)
	}
	if version != layout {
		return value{}, fmt.Errorf("the lock's value has layout %.10q, this version knows %q",
			version, layout)
	}
	contender, rest, ok1 := strings.Cut(rest, ":")
	number, text, ok2 := strings.Cut(rest, ":")
	attempt, err := strconv.Atoi(number)
	if !ok1 || !ok2 || err != nil {
		return value{}, fmt.Errorf("the lock's key holds %.40q, which this library did not write", s)
	}
	return value{contender: contender, attempt: attempt, text: text}, nil
}
