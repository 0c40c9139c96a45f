package jobstore

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// A state is stored as words. Each word is a space, a key, an equals sign, and values. A list has a word for each element. Words without
// values are omitted. An earlier version skips keys that a later version adds. A record is stored as values only.

// stateWords write the words with a key, or read the values of one. They are in the order in which they are written.
var stateWords = []struct {
	key  string
	code func(*State, *coder)
}{
	{"since", func(s *State, c *coder) { c.micros(&s.Since) }},
	{"plan", func(s *State, c *coder) { c.text(&s.Plan) }},
	{"mark", func(s *State, c *coder) { c.millis(&s.Mark) }},
	{"reading", func(s *State, c *coder) { c.millis(&s.Reading) }},
	{"pause", func(s *State, c *coder) { s.Pause.code(c) }},
	{"all", func(s *State, c *coder) { s.All.code(c) }},
	{"manual", func(s *State, c *coder) { s.Manual.code(c) }},
	{"canceled", func(s *State, c *coder) { s.Canceled.code(c) }},
	{"missed", func(s *State, c *coder) { number(c, &s.Missed) }},
	{"notrun", func(s *State, c *coder) { s.NotRun.code(c) }},
	{"waits", func(s *State, c *coder) { c.reason(&s.Waits) }},
	{"open", func(s *State, c *coder) { each(c, &s.Open, (*Open).code) }},
	{"kept", func(s *State, c *coder) { each(c, &s.Kept, func(t *time.Time, c *coder) { c.millis(t) }) }},
	{"skipped", func(s *State, c *coder) { record(c, &s.Skipped) }},
	{"last", func(s *State, c *coder) { record(c, &s.Last) }},
	{"lastok", func(s *State, c *coder) {
		if c.reads || s.LastOK != nil && (s.Last == nil || *s.LastOK != *s.Last) {
			record(c, &s.LastOK)
		}
	}},
	{"byhand", func(s *State, c *coder) { record(c, &s.ByHand) }},
	{"rerun", func(s *State, c *coder) { each(c, &s.Reruns, (*Rerun).code) }},
	{"failures", func(s *State, c *coder) { number(c, &s.Failures) }},
	{"removed", func(s *State, c *coder) { c.flag(&s.Removed) }},
	{"lost", func(s *State, c *coder) { c.micros(&s.Lost) }},
	{"gap", func(s *State, c *coder) { each(c, &s.Gaps, (*Range).code) }},
	{"ran", func(s *State, c *coder) { s.Ran.code(c) }},
}

// each writes a word for each element of a list, or adds the element of one.
func each[T comparable](c *coder, all *[]T, code func(*T, *coder)) {
	if c.reads {
		var none, one T
		if code(&one, c); one != none {
			*all = append(*all, one)
		}
		return
	}
	for i := range *all {
		c.begin(c.key)
		code(&(*all)[i], c)
	}
}

// record writes a record that may be missing, or reads one.
func record(c *coder, r **Record) {
	if c.reads {
		read := new(Record)
		if read.code(c); read.State != "" {
			*r = read
		}
	} else if *r != nil {
		(*r).code(c)
	}
}

// append appends the text of a state.
func (s *State) append(to []byte) []byte {
	c := coder{out: to}
	for _, word := range stateWords {
		c.begin(word.key)
		word.code(s, &c)
	}
	return c.out
}

// decode decodes a text of State.append into a zero state. If that fails, the state stays zero.
func (s *State) decode(text string) error {
	c := coder{reads: true}
	for text != "" {
		var word, key string
		word, text, _ = strings.Cut(text, " ")
		key, c.left, _ = strings.Cut(word, "=")
		for i := range stateWords {
			if stateWords[i].key == key {
				stateWords[i].code(s, &c)
			}
		}
		if err := cmp.Or(c.err, s.check()); err != nil {
			*s = State{}
			return fmt.Errorf("the state of the job cannot be read: %.80q: %w", word, err)
		}
	}
	if s.Last != nil && s.Last.State == StateOK && s.LastOK == nil {
		s.LastOK = s.Last
	}
	return nil
}

func (n *NotRun) code(c *coder) {
	c.millis(&n.Tick)
	c.reason(&n.Reason)
}

func (o *Open) code(c *coder) {
	o.Slot.code(c)
	c.text(&o.ID)
	number(c, &o.Attempt)
	number(c, &o.Tries)
	number(c, &o.Token)
	c.text(&o.Replica)
	c.micros(&o.Start)
	c.flag(&o.Late)
	c.flag(&o.Returned)
	c.span(&o.Timeout)
	c.micros(&o.NotBefore)
	number(c, &o.Deaths)
	c.micros(&o.Canceled)
	c.micros(&o.Began)
}

func (r *Record) code(c *coder) {
	r.Slot.code(c)
	c.text(&r.State)
	c.text(&r.ID)
	number(c, &r.Attempt)
	number(c, &r.Token)
	c.text(&r.Replica)
	c.after(&r.Start, r.Slot.At)
	c.after(&r.End, r.Start)
	c.flag(&r.Late)
	c.reason(&r.Err)
	number(c, &r.Ticks)
	c.millis(&r.From)
}

// decodeRecord decodes the text of a record.
func decodeRecord(text string) (r Record, err error) {
	if err = decode(text, r.code); err != nil {
		return Record{}, fmt.Errorf("a record of the job cannot be read: %.80q: %w", text, err)
	}
	return r, nil
}

func (r *Rerun) code(c *coder) {
	r.Mark.code(c)
	c.millis(&r.Tick)
	outcome := encode(r.Outcome.code)
	if c.text(&outcome); c.reads {
		c.fail(decode(outcome, r.Outcome.code))
	}
}

func (r *Range) code(c *coder) {
	c.millis(&r.After)
	c.millis(&r.UpTo)
}

// A slot has a letter before its instant. The zero slot, of a record that is missing, has none.
func (s *Slot) code(c *coder) {
	var kind string
	at := coder{reads: c.reads}
	switch {
	case c.reads:
		text := c.next()
		kind, at.left = text[:min(1, len(text))], text[min(1, len(text)):]
		s.Manual, s.Again = kind == "m" || kind == "a", kind == "a"
	case s.Again:
		kind = "a"
	case s.Manual:
		kind = "m"
	case !s.At.IsZero():
		kind = "t"
	}
	switch kind {
	case "":
	case "t", "a":
		at.millis(&s.At)
	case "m":
		at.micros(&s.At)
	default:
		at.err = fmt.Errorf("%.20q is neither a tick nor a trigger", kind)
	}
	if c.fail(at.err); !c.reads {
		c.put(kind + string(at.out))
	}
}

// A mark has a fixed width, since the scripts compare texts: those of marks have the order of the marks.
func (m *Mark) code(c *coder) {
	switch {
	case c.reads:
		text := c.next()
		if len(text) != markTextLen {
			c.fail(fmt.Errorf("the mark of a request cannot be read: %.80q", text))
			return
		}
		m.Version, m.ID = c.parse(text[:16]), text[16:]
	case *m == (Mark{}):
		c.put("")
	default:
		c.put(fmt.Sprintf("%016d%s", m.Version, m.ID))
	}
}

const markTextLen = 22

func (s *Setting) code(c *coder) {
	s.Mark.code(c)
	c.flag(&s.On)
	c.text(&s.By)
	c.text(&s.From)
	c.text(&s.Why)
	c.millis(&s.Until)
	c.millis(&s.Since)
	c.micros(&s.Made)
}
