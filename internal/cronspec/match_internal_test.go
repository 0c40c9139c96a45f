package cronspec

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// robfig's own search is right in UTC for dates that come within its five years.
func TestMatch_AgreesWithRobfigsSearchInUTC(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(low, high int) string {
		value := func() int { return low + random.IntN(high-low+1) }
		switch random.IntN(4) {
		case 0:
			return "*"
		case 1:
			return fmt.Sprintf("*/%d", 1+random.IntN(high-low))
		case 2:
			return fmt.Sprintf("%d,%d,%d", value(), value(), value())
		}
		return fmt.Sprint(value())
	}
	compared := 0
	for range 3000 {
		words := []string{pick(0, 59), pick(0, 59), pick(0, 23), pick(1, 31), pick(1, 12), pick(0, 6)}
		text := strings.Join(words, " ")
		spec, err := ask(parser, text)
		if err != nil {
			t.Fatal(err)
		}
		spec.Location = time.UTC
		schedule, err := Parse(text, nil)
		if err != nil {
			continue // robfig's parser takes a */2 in a day field for a restriction, crontabs for a *
		}
		from := time.Unix(random.Int64N(4_000_000_000), 0).UTC()
		for range 5 {
			want := spec.Next(from)
			if want.IsZero() {
				break // beyond its five years, or never
			}
			if got := schedule.Next(from); !got.Equal(want) {
				t.Fatalf("%v after %v: %v, want %v", words, from, got, want)
			}
			from = want
			compared++
		}
	}
	if compared < 8000 {
		t.Errorf("only %d ticks were compared", compared)
	}
}
