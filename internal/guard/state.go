package guard

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Field is where the hash of a prefix has the guard.
const Field = "g"

// State is what the guard of a server says, for people.
type State struct {
	Since   time.Time     // when it began, by the server's clock
	Until   time.Time     // until when the server grants nothing
	Longest time.Duration // the longest lease known
	Nodes   int           // how many are in the list
	Used    time.Time     // when that list was last used
}

var layout = regexp.MustCompile(`^2 .{40} (\d{16}) (\d{16}) (\d{12}) (\d{3}) (\d{13})$`)

// Parse reads the field of the hash.
func Parse(text string) (State, error) {
	found := layout.FindStringSubmatch(text)
	if found == nil {
		return State{}, fmt.Errorf("this version did not write the guard %.20q", text)
	}
	var numbers [5]int64
	for i, digits := range found[1:] {
		numbers[i], _ = strconv.ParseInt(digits, 10, 64) // 16 digits always fit
	}
	return State{
		time.UnixMicro(numbers[0]), time.UnixMicro(numbers[1]), time.Duration(numbers[2]) * time.Millisecond, int(numbers[3]),
		time.UnixMilli(numbers[4]),
	}, nil
}
