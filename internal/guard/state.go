package guard

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Field is the field of the guard in the hash of a prefix.
const Field = "g"

// State is the content of a server's guard, for display.
type State struct {
	Since   time.Time     // when the guard started, by the server's clock
	Until   time.Time     // when the server may grant again
	Longest time.Duration // the longest lease known
	Label   string        // of the list that the server serves; all - if it serves none now
	Used    time.Time     // when that list was last used
}

var layout = regexp.MustCompile(`^3 .{40} (\d{16}) (\d{16}) (\d{12}) ([0-9a-f]{16}|-{16}) (\d{13})$`)

// Parse parses the guard's field.
func Parse(text string) (State, error) {
	found := layout.FindStringSubmatch(text)
	if found == nil {
		return State{}, fmt.Errorf("this version did not write the guard %.20q", text)
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(found[i], 10, 64) // 16 digits always fit
		return n
	}
	return State{
		time.UnixMicro(number(1)), time.UnixMicro(number(2)), time.Duration(number(3)) * time.Millisecond, found[4],
		time.UnixMilli(number(5)),
	}, nil
}
