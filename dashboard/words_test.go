package dashboard

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlockfx/redlockfx/internal/cronspec"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/scheduler"
)

func TestWords_SayWhenASpecFires(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{"0 2 * * *", "every day at 02:00"},
		{"CRON_TZ=Europe/Rome 30 6 * * *", "every day at 06:30"},
		{"30 0 2 * * *", "every day at 02:00:30"},
		{"*/15 * * * *", "every 15 minutes"},
		{"* * * * *", "every minute"},
		{"*/7 * * * *", "every hour, at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56"},
		{"5 * * * *", "every hour, at minute 5"},
		{"0-5,10,20-30 * * * *", "every hour, at minutes 0 to 5, 10 and 20 to 30"},
		{"1/2 * * * *", "every hour, at minutes 1, 3, 5, ..., 59"},
		{"5,10 3,17 * * * *", "every hour, at seconds 5 and 10 of minutes 3 and 17"},
		{"* 5 * * * *", "every hour, every second of minute 5"},
		{"0 9-17 * * *", "every day, every hour from 09:00 to 17:00"},
		{"5 1-23/2 * * *", "every day, every 2 hours from 01:05 to 23:05"},
		{"*/7 3 * * *", "every day, every 7 minutes from 03:00 to 03:56"},
		{"* 2,5 * * *", "every day, every minute of hours 2 and 5"},
		{"* * 2 * * *", "every day, every second from 02:00:00 to 02:59:59"},
		{"3,17,40 2-6 * * *", "every day, at minutes 3, 17 and 40 of hours 2 to 6"},
		{"5,10 3,17 2-6 * * *", "every day, at seconds 5 and 10 of minutes 3 and 17 of hours 2 to 6"},
		{"30 9 * * mon,thu", "every Monday and Thursday at 09:30"},
		{"0 8 * * 1-5", "every weekday (Monday to Friday) at 08:00"},
		{"0 8 * * */2", "every Tuesday, Thursday, Saturday and Sunday at 08:00"},
		{"*/15 9-17 * * 1-5", "every weekday (Monday to Friday), every 15 minutes from 09:00 to 17:45"},
		{"@monthly", "on day 1 of every month at 00:00"},
		{"0 0 */2 * *", "on days 1, 3, 5, ..., 31 of the month at 00:00"},
		{"0 4 1-7 * mon", "on days 1 to 7 of every month or every Monday, at 04:00"},
		{"0 0 ?,*/2 * 5", "every Friday at 00:00"},
		{"0 0 L * *", "on the last day of every month at 00:00"},
		{"0 0 1,15,L-1,L-3 * *", "on days 1 and 15, the last day but one and the day 3 days before the last one of every month at 00:00"},
		{"0 0 LW,31W * *", "on the last weekday and the weekday nearest to day 31 of the month at 00:00"},
		{"0 9 * 1 5#2,5L", "in January, on the last Friday and the second Friday, at 09:00"},
		{"0 9 * * 1,5#2", "every Monday and the second Friday of the month at 09:00"},
		{"0 0 13 * +fri", "every Friday that falls on day 13 of every month, at 00:00"},
		{"0 0 L * 0#1", "on the last day of every month or on the first Sunday of the month, at 00:00"},
		{"@at 2026-12-01T09:00:00Z", "once, on 1 December 2026 at 09:00"},
		{"CRON_TZ=Europe/Rome @at 2026-12-01T09:00:05", "once, on 1 December 2026 at 09:00:05"},
		{"15 3 1 1,7 *", "in January and July, on day 1, at 03:15"},
		{"0 2 * 6-8 *", "in June to August, every day, at 02:00"},
		{"30 9 * jan,mar,may mon", "in January, March and May, every Monday, at 09:30"},
		{"*/15 * * 1 *", "in January, every 15 minutes"},
		{"*/20 * 1 * fri", "on day 1 of every month or every Friday, every 20 minutes"},
		{"@every 1h30m", "every 1 h 30 min"},
	} {
		if got := words(c.spec); got != c.want {
			t.Errorf("words(%q) = %q, want %q", c.spec, got, c.want)
		}
	}
}

// If words omitted something or were wrong, two different specs would have the same words.
func TestWords_AreTheSameForTheSameTicksOnly(t *testing.T) {
	type known struct {
		spec  string
		ticks func() []time.Time
	}
	first := map[string]known{} // by words: the first spec that has them
	alike := 0                  // specs with the same words as another

	rapid.Check(t, func(r *rapid.T) {
		for _, spec := range relatives(r, drawSpec(r)) {
			said := words(spec)
			other, seen := first[said]
			switch {
			case said == "" || other.spec == spec: // longer than a spec may be, or never fires
			case !seen:
				first[said] = known{spec, sync.OnceValue(func() []time.Time { return ticks(t, spec) })}
			default:
				alike++
				if !slices.Equal(other.ticks(), ticks(t, spec)) {
					r.Fatalf("%q and %q are both %q, but differ in their ticks", other.spec, spec, said)
				}
			}
		}
	})

	t.Logf("%d wordings, %d specs alike", len(first), alike)
	if alike < 500 && !testing.Short() { // then rapid draws a fifth of the specs
		t.Errorf("only %d specs had the words of another: this shows little", alike)
	}
}

// A spec has words if and only if the scheduler accepts it.
func FuzzWords(f *testing.F) {
	for _, seed := range []string{
		"*/7 2-6 1,*/2 jan-mar/2 5-7", "0 0 L,15W * +5#2,mon", "@at 2026-12-01T09:00:00", "0 0 L-29 2 *", "1/2 ? ? ? ? *", "TZ=UTC @daily", "@every 1h30m", "@midnight", "0 8 * * Mon-Fri",
		"@every 500ms", "0 0 30 2 *", "60 * * * *", "", "@reboot", "* * * *", "CRON_TZ=Nowhere/Land 0 2 * * *",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		_, err := scheduler.Parse(spec, nil)
		if said := words(spec); (said == "") != (err != nil) {
			t.Errorf("words(%q) = %q, and the scheduler says: %v", spec, said, err)
		}
	})
}

// drawnFields are the ranges of a spec's fields.
var drawnFields = [...]struct{ first, last int }{{0, 59}, {0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}}

const dayOfMonth, dayOfWeek = 3, 5

func drawSpec(t *rapid.T) []string {
	var texts []string
	for i, f := range drawnFields {
		value := rapid.IntRange(f.first, f.last)
		step := rapid.SampledFrom([]int{1, 2, 3, 4, 5, 6, 7})
		if f.last > 12 {
			step = rapid.SampledFrom([]int{1, 2, 3, 5, 7, 8, 10, 12, 15, 20})
		}
		part := func() string {
			a, b, step := value.Draw(t, "value"), value.Draw(t, "value"), step.Draw(t, "step")
			items := []string{
				"*", "*", "*", strconv.Itoa(f.first), strconv.Itoa(f.first), strconv.Itoa(a), fmt.Sprintf("%d-%d/%d", f.first, f.last, step),
				fmt.Sprintf("%d/%d", a, step), fmt.Sprintf("%d-%d/%d", min(a, b), max(a, b), step), fmt.Sprintf("%d-%d", min(a, b), max(a, b)),
			}
			switch i {
			case dayOfMonth:
				items = append(items, "L", "LW", fmt.Sprintf("L-%d", min(a, 30)), fmt.Sprintf("%dW", b))
			case dayOfWeek:
				items = append(items, fmt.Sprintf("%d#%d", a, 1+b%5), fmt.Sprintf("%dL", b))
			}
			return rapid.SampledFrom(items).Draw(t, "part")
		}
		text := part()
		if rapid.IntRange(0, 5).Draw(t, "parts") == 0 {
			text += "," + part()
		}
		if i == dayOfWeek && rapid.Bool().Draw(t, "both") {
			text = "+" + text
		}
		texts = append(texts, text)
	}
	return texts
}

// relatives returns a spec, the same spec in other spellings, and some that differ from it in one value of a field.
func relatives(t *rapid.T, texts []string) []string {
	specs := []string{strings.Join(texts, " ")}
	with := func(field int, text string) {
		changed := slices.Clone(texts)
		changed[field] = text
		specs = append(specs, strings.Join(changed, " "))
	}
	for i, f := range drawnFields {
		with(i, "*")
		with(i, "?,*/2")
		with(i, "*/1")
		with(i, fmt.Sprintf("%d-%d", f.first, f.last))
		if values := valuesOf(i, texts[i]); len(values) > 0 {
			with(i, numbers(values))
		}
	}

	i := rapid.IntRange(0, len(drawnFields)-1).Draw(t, "changed field")
	values := valuesOf(i, texts[i])
	every := rapid.IntRange(1, 5).Draw(t, "how many values differ by")
	for v := drawnFields[i].first; v <= drawnFields[i].last; v += every {
		changed := slices.DeleteFunc(slices.Clone(values), func(is int) bool { return is == v })
		if len(changed) == len(values) {
			changed = append(changed, v)
		}
		if len(changed) > 0 {
			with(i, numbers(changed))
		}
	}
	return specs
}

// valuesOf returns the plain values of a field.
func valuesOf(field int, text string) []int {
	texts := strings.Fields("* * * * * *")
	texts[field] = strings.TrimPrefix(text, "+")
	schedule, err := cronspec.Parse(strings.Join(texts, " "), nil)
	if err != nil {
		return nil
	}
	c := schedule.(*cronspec.Calendar)
	return []cronspec.Set{c.Second, c.Minute, c.Hour, c.Dates, c.Month, c.Weekdays}[field].Values()
}

func numbers(values []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(values), " ", ","), "[]")
}

// ticks returns the next 20 ticks from an instant, and the next one from each of many instants over a year.
func ticks(t *testing.T, spec string) []time.Time {
	start := time.Date(2026, time.March, 30, 21, 58, 47, 0, time.UTC)
	ticks, err := scheduler.Preview(spec, nil, start, 20)
	want.NoError(t, err)
	schedule, err := scheduler.Parse(spec, nil)
	want.NoError(t, err)
	for i := range 40 {
		ticks = append(ticks, schedule.Next(start.Add(time.Duration(i)*(222*time.Hour+7*time.Minute+13*time.Second))))
	}
	return ticks
}
