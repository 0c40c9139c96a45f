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
	Nodes   int           // number of nodes in the list
	Used    time.Time     // when that list was last used
}

var layout = regexp.MustCompile(`^2 .{40} (\d{16}) (\d{16}) (\d{12}) (\d{3}) (\d{13})$`)

// Parse parses the guard's field.
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
