package jobstore

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// values decodes the values of a word. Missing values are zero. The first error is kept in err.
type values struct {
	left string
	err  error
}

func (v *values) next() string {
	var value string
	value, v.left, _ = strings.Cut(v.left, ",")
	return value
}

func (v *values) text() string {
	text, err := url.QueryUnescape(v.next())
	v.fail(err)
	return text
}

func (v *values) int64() int64 {
	text := v.next()
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && (n > maxNumber || n < -maxNumber) {
		err = fmt.Errorf("%d is out of range", n)
	}
	v.fail(err)
	return n
}

// maxNumber is larger than any real time, span or token. Times made of such numbers do not overflow.
const maxNumber = 1 << 53

func (v *values) int() int { return int(v.int64()) }

func (v *values) uint() uint64 {
	n := v.int64()
	if n < 0 {
		v.fail(fmt.Errorf("%d is negative", n))
	}
	return uint64(max(n, 0))
}

func (v *values) flag() bool     { return v.next() == "1" }
func (v *values) fail(err error) { v.err = first(v.err, err) }

func (v *values) millis() time.Time {
	ms := v.int64()
	if ms == 0 {
		return time.Time{}
	}
	return v.time(time.UnixMilli(ms).UTC())
}

func (v *values) micros() time.Time { return v.time(timeOf(v.int64())) }

// time refuses a time that cannot be encoded as JSON.
func (v *values) time(t time.Time) time.Time {
	if year := t.Year(); year < 0 || year > 9999 {
		v.fail(fmt.Errorf("the year %d is out of range", year))
	}
	return t
}

func (v *values) slot() Slot {
	slot := v.left
	switch {
	case strings.HasPrefix(slot, "t"):
		v.left = slot[1:]
		return Slot{At: v.millis()}
	case strings.HasPrefix(slot, "a"):
		v.left = slot[1:]
		return Slot{At: v.millis(), Manual: true, Again: true}
	case strings.HasPrefix(slot, "m"):
		v.left = slot[1:]
		return Slot{At: v.micros(), Manual: true}
	}
	if text := v.next(); text != "" {
		v.fail(fmt.Errorf("%.20q is neither a tick nor a trigger", text))
	}
	return Slot{}
}

func (v *values) record() Record {
	r := Record{Slot: v.slot(), State: v.next(), ID: v.next(), Attempt: v.int(), Token: v.uint(), Replica: v.text()}
	start, took := v.next(), v.next()
	r.Late, r.Err, r.Ticks, r.From = v.flag(), v.text(), v.int(), v.millis()
	if start != "" {
		r.Start = v.time(r.Slot.At.Add(v.span(start)))
	}
	if took != "" {
		r.End = v.time(r.Start.Add(v.span(took)))
	}
	return r
}

func (v *values) rerun() (r Rerun) {
	var err error
	r.Mark, err = decodeMark(v.next())
	v.fail(err)
	r.Tick = v.millis()
	if outcome := v.text(); outcome != "" {
		r.Outcome, err = decodeRecord(outcome)
		v.fail(err)
	}
	return r
}

func (v *values) span(text string) time.Duration {
	own := values{left: text}
	us := own.int64()
	v.fail(own.err)
	return time.Duration(us) * time.Microsecond
}
