package ops

import (
	"fmt"
	"strconv"
	"time"
)

// Duration is written in milliseconds with at most three decimals.
type Duration time.Duration

// MarshalJSON writes milliseconds, as 1500 or 0.42.
func (d Duration) MarshalJSON() ([]byte, error) {
	ms := float64(time.Duration(d).Round(time.Microsecond).Microseconds()) / 1000
	return strconv.AppendFloat(nil, ms, 'f', -1, 64), nil
}

// String returns the duration for people, in at most two units.
func (d Duration) String() string {
	switch t := time.Duration(d).Abs(); {
	case t < 50*time.Microsecond:
		return "0 ms"
	case d < 0:
		return "−" + (-d).String()
	case t < 950*time.Microsecond:
		return fmt.Sprintf("%.1f ms", float64(t)/float64(time.Millisecond))
	case t < time.Second:
		return fmt.Sprintf("%d ms", t.Round(time.Millisecond).Milliseconds())
	case t < 10*time.Second:
		return fmt.Sprintf("%.1f s", t.Seconds())
	case t < time.Minute:
		return fmt.Sprintf("%d s", int(t.Seconds()))
	case t < time.Hour:
		return twoParts(t, time.Minute, "min", time.Second, "s")
	case t < 48*time.Hour:
		return twoParts(t, time.Hour, "h", time.Minute, "min")
	default:
		return twoParts(t, 24*time.Hour, "d", time.Hour, "h")
	}
}

func twoParts(t, large time.Duration, largeName string, small time.Duration, smallName string) string {
	text := fmt.Sprintf("%d %s", t/large, largeName)
	if rest := t % large / small; rest > 0 {
		text += fmt.Sprintf(" %d %s", rest, smallName)
	}
	return text
}

// When returns nil for the zero time.
func When(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = Sayable(t)
	return &t
}

// Sayable returns t in UTC, or the nearest time that JSON can represent. Otherwise one invalid time would fail the
// whole answer.
func Sayable(t time.Time) time.Time {
	switch t = t.UTC(); {
	case t.Year() > 9999:
		return time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)
	case t.Year() < 1:
		return time.Time{}
	default:
		return t
	}
}
