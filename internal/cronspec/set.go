package cronspec

import (
	"math/bits"
	"strconv"
	"strings"
)

// Set is a set of values from 0 to 62: value n is in it if bit n is set.
type Set uint64

// Has reports whether a value is in the set.
func (s Set) Has(value int) bool { return s&(1<<value) != 0 }

// Values returns the values of the set, the lowest first.
func (s Set) Values() (values []int) {
	for ; s != 0; s &= s - 1 {
		values = append(values, s.lowest())
	}
	return values
}

func (s Set) lowest() int { return bits.TrailingZeros64(uint64(s)) }

// next returns the lowest value that is at least from.
func (s Set) next(from int) (value int, ok bool) {
	value = (s >> from << from).lowest()
	return value, value < 64
}

// below returns how many values are below another one.
func (s Set) below(value int) int { return bits.OnesCount64(uint64(s & (1<<value - 1))) }

// span returns the set of all values from one to another.
func span(first, last int) Set { return 1<<(last+1) - 1<<first }

// text returns a set of a field's values as a list of steps of at least three values, and of single values; or only of these if plain.
func (f field) text(set Set, plain bool) string {
	var parts []string
	for set != 0 {
		first, n := set.lowest(), 1
		step := (set & (set - 1)).lowest() - first // to the second value
		for set.Has(first + n*step) {
			n++
		}
		last := first + (n-1)*step
		part := strconv.Itoa(first) + "-" + strconv.Itoa(last)
		switch {
		case plain || n < 3:
			part, n = strconv.Itoa(first), 1
		case first == f.min && last+step > f.last():
			part = "*"
		}
		if n > 1 && step > 1 {
			part += "/" + strconv.Itoa(step)
		}
		for i := range n {
			set &^= 1 << (first + i*step)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}
