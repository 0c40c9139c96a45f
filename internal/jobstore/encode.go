package jobstore

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A state is stored as words. Each word is a key, an equals sign, and values separated by commas. A record is stored as values only.
// Values are escaped as in the query of a URL, but only as far as this format needs it, and zero values are omitted. People can read
// the text with redis-cli, and it is half as long as JSON. An earlier version skips keys that a later version adds.

const maxErr = 1024 // bytes of an error that are kept

// escape escapes the separators of words and values. Letters of any alphabet keep their size.
var escape = strings.NewReplacer("%", "%25", "+", "%2B", " ", "+", ",", "%2C").Replace

// words is a buffer for the text of a state or a record.
type words []byte

// word appends a word that is not the first.
func (w *words) word(key string, values ...string) {
	*w = append(*w, ' ')
	*w = append(append(*w, key...), '=')
	w.list(values...)
}

// list appends values, without the empty ones at the end.
func (w *words) list(values ...string) {
	for len(values) > 0 && values[len(values)-1] == "" {
		values = values[:len(values)-1]
	}
	for i, v := range values {
		if i > 0 {
			*w = append(*w, ',')
		}
		*w = append(*w, v...)
	}
}

// append appends the text of a state.
func (s *State) append(to []byte) []byte {
	w := words(to)
	w.list("since=" + micros(s.Since))
	w.word("plan", escape(s.Plan))
	w.word("mark", millis(s.Mark))
	if !s.Reading.IsZero() {
		w.word("reading", millis(s.Reading))
	}
	if s.Pause.Version != 0 {
		w.word("pause", s.Pause.encode())
	}
	if s.All.Version != 0 {
		w.word("all", s.All.encode())
	}
	if s.Manual.Version != 0 {
		w.word("manual", s.Manual.encode())
	}
	if s.Canceled.Version != 0 {
		w.word("canceled", s.Canceled.encode())
	}
	if s.Missed != 0 {
		w.word("missed", strconv.Itoa(s.Missed))
	}
	if !s.NotRun.Tick.IsZero() {
		w.word("notrun", millis(s.NotRun.Tick), escape(cut(s.NotRun.Reason)))
	}
	if s.Waits != "" {
		w.word("waits", escape(cut(s.Waits)))
	}
	for _, o := range s.Open {
		timeout := ""
		if o.Timeout != 0 {
			timeout = span(o.Timeout)
		}
		w.word("open", o.Slot.encode(), o.ID, number(o.Attempt), number(o.Tries), strconv.FormatUint(o.Token, 10),
			escape(o.Replica), micros(o.Start), flag(o.Late), flag(o.Returned), timeout,
			micros(o.NotBefore), number(o.Deaths), micros(o.Canceled), micros(o.Began))
	}
	for _, t := range s.Kept {
		w.word("kept", millis(t))
	}
	if s.Skipped.State != "" {
		w.word("skipped", s.Skipped.encode())
	}
	if s.Last.State != "" {
		w.word("last", s.Last.encode())
	}
	if s.LastOK.State != "" && s.LastOK != s.Last {
		w.word("lastok", s.LastOK.encode())
	}
	if s.ByHand.State != "" {
		w.word("byhand", s.ByHand.encode())
	}
	for _, r := range s.Reruns {
		w.word("rerun", r.Mark.encode(), millis(r.Tick), escape(r.Outcome.encode()))
	}
	if s.Failures != 0 {
		w.word("failures", strconv.Itoa(s.Failures))
	}
	if s.Removed {
		w.word("removed", flag(true))
	}
	if !s.Lost.IsZero() {
		w.word("lost", micros(s.Lost))
	}
	for _, g := range s.Gaps {
		w.word("gap", millis(g.After), millis(g.UpTo))
	}
	if s.Ran != (Range{}) {
		w.word("ran", millis(s.Ran.After), millis(s.Ran.UpTo))
	}
	return w
}

// decodeState decodes a text of State.append.
func decodeState(text string) (State, error) {
	var s State
	for text != "" {
		var word string
		word, text, _ = strings.Cut(text, " ")
		key, list, _ := strings.Cut(word, "=")
		v := values{left: list}
		switch key {
		case "since":
			s.Since = v.micros()
		case "plan":
			s.Plan = v.text()
		case "mark":
			s.Mark = v.millis()
		case "reading":
			s.Reading = v.millis()
		case "pause":
			s.Pause, v.err = decodeSetting(list)
		case "all":
			s.All, v.err = decodeSetting(list)
		case "manual":
			s.Manual, v.err = decodeMark(list)
		case "canceled":
			s.Canceled, v.err = decodeMark(list)
		case "missed":
			s.Missed = v.int()
		case "notrun":
			s.NotRun = NotRun{Tick: v.millis(), Reason: v.text()}
		case "waits":
			s.Waits = v.text()
		case "open":
			s.Open = append(s.Open, Open{
				Slot: v.slot(), ID: v.next(), Attempt: v.int(), Tries: v.int(), Token: v.uint(), Replica: v.text(),
				Start: v.micros(), Late: v.flag(), Returned: v.flag(), Timeout: v.span(v.next()),
				NotBefore: v.micros(), Deaths: v.int(), Canceled: v.micros(), Began: v.micros(),
			})
		case "kept":
			s.Kept = append(s.Kept, v.millis())
		case "skipped":
			s.Skipped = v.record()
		case "last":
			s.Last = v.record()
		case "lastok":
			s.LastOK = v.record()
		case "byhand":
			s.ByHand = v.record()
		case "rerun":
			s.Reruns = append(s.Reruns, v.rerun())
		case "failures":
			s.Failures = v.int()
		case "removed":
			s.Removed = v.flag()
		case "lost":
			s.Lost = v.micros()
		case "gap":
			s.Gaps = append(s.Gaps, Range{v.millis(), v.millis()})
		case "ran":
			s.Ran = Range{v.millis(), v.millis()}
		}
		if v.err != nil {
			return State{}, fmt.Errorf("the state of the job cannot be read: %.80q: %w", word, v.err)
		}
		if err := s.check(); err != nil {
			return State{}, fmt.Errorf("the state of the job cannot be read: %w", err)
		}
	}
	if s.Last.State == StateOK && s.LastOK.State == "" {
		s.LastOK = s.Last
	}
	return s, nil
}

// encode returns the text of a record. Start is written as the time since the slot, and End as the time since Start.
func (r *Record) encode() string {
	var start, took string
	if !r.Start.IsZero() {
		start = span(r.Start.Sub(r.Slot.At))
	}
	if !r.End.IsZero() {
		took = span(r.End.Sub(r.Start))
	}
	ticks, from := "", ""
	if r.Ticks != 0 {
		ticks, from = strconv.Itoa(r.Ticks), millis(r.From)
	}
	w := make(words, 0, 256)
	w.list(r.Slot.encode(), r.State, r.ID, number(r.Attempt), strconv.FormatUint(r.Token, 10), escape(r.Replica),
		start, took, flag(r.Late), escape(cut(r.Err)), ticks, from)
	return string(w)
}

// decodeRecord decodes a text of Record.encode.
func decodeRecord(text string) (Record, error) {
	v := values{left: text}
	r := v.record()
	if v.err != nil {
		return Record{}, fmt.Errorf("a record of the job cannot be read: %.80q: %w", text, v.err)
	}
	return r, nil
}

func (s Slot) encode() string {
	switch {
	case s.Again:
		return "a" + millis(s.At)
	case s.Manual:
		return "m" + micros(s.At)
	case s.At.IsZero():
		return ""
	}
	return "t" + millis(s.At)
}

func first(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func span(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return ""
}

func millis(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMilli(), 10)
}

func micros(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMicro(), 10)
}

func timeOf(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// cut returns the part of an error that is kept: at most maxErr bytes, in valid UTF-8. A question mark replaces invalid bytes, and a
// character that is cut in two.
func cut(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxErr)], "?") }
