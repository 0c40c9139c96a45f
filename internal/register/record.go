package register

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// What a record's state is. All but Claimed are ends.
const (
	Claimed = "claimed"
	OK      = "ok"
	Failed  = "failed"
	Lost    = "lost"
	Missed  = "missed"
	Skipped = "skipped"
)

const maxText = 1024 // bytes of an error that are kept

// Slot names what is claimed: a tick, or a run that was asked for by hand.
type Slot struct {
	At     time.Time // the tick, in whole ms; by hand: when it was asked for, in µs, which is its version
	Manual bool
}

func (s Slot) lane() string {
	if s.Manual {
		return "m"
	}
	return "t"
}

// number is the slot's place in its lane.
func (s Slot) number() int64 {
	if s.Manual {
		return micro(s.At)
	}
	return milli(s.At)
}

// at is the instant of a place in the same lane.
func (s Slot) at(number int64) time.Time {
	if s.Manual {
		return timeOf(number)
	}
	return time.UnixMilli(number).UTC()
}

func (s Slot) field() string { return s.lane() + strconv.FormatInt(s.number(), 10) }

func parseSlot(field string) (Slot, bool) {
	if len(field) < 2 {
		return Slot{}, false
	}
	n, err := strconv.ParseInt(field[1:], 10, 64)
	switch {
	case err != nil:
		return Slot{}, false
	case field[0] == 't':
		return Slot{At: time.UnixMilli(n).UTC()}, true
	case field[0] == 'm':
		return Slot{At: time.UnixMicro(n).UTC(), Manual: true}, true
	}
	return Slot{}, false
}

// Record is what is known of one slot.
type Record struct {
	Slot    Slot
	Run     string // the id of the claim
	Attempt int    // claim of this slot, from 1
	Token   uint64
	State   string
	Details
}

// Details are what no node looks at.
type Details struct {
	By       string    `json:"by,omitempty"` // the replica
	Start    time.Time `json:"start,omitzero"`
	End      time.Time `json:"end,omitzero"`
	Err      string    `json:"err,omitempty"`
	Jumped   int       `json:"jumped,omitempty"` // ticks before this one that were left out
	From     time.Time `json:"from,omitzero"`    // the first of these
	CaughtUp bool      `json:"late,omitempty"`
	Attempts int       `json:"attempts,omitempty"` // those within the claim counted too, if there were any
}

// Ended tells that the record has an end.
func (r Record) Ended() bool { return r.State != Claimed }

func (r Record) encode() string {
	if len(r.Err) > maxText {
		cut := maxText
		for !utf8.RuneStart(r.Err[cut]) {
			cut--
		}
		r.Err = r.Err[:cut]
	}
	r.Err = strings.ToValidUTF8(r.Err, "\uFFFD")
	text, _ := json.Marshal(r.Details) // of strings, numbers and times of this era: it cannot fail
	return fmt.Sprintf("1:%s:%d:%d:%s:%s", r.Run, r.Attempt, r.Token, r.State, text)
}

func parseRecord(field, text string) (Record, error) {
	slot, ok := parseSlot(field)
	parts := strings.SplitN(text, ":", 6)
	if !ok || len(parts) != 6 || parts[0] != "1" {
		return Record{}, fmt.Errorf("unexpected record %.50q of %.50q", text, field)
	}
	attempt, err1 := strconv.Atoi(parts[2])
	token, err2 := strconv.ParseUint(parts[3], 10, 64)
	r := Record{Slot: slot, Run: parts[1], Attempt: attempt, Token: token, State: parts[4]}
	if err := errors.Join(err1, err2, json.Unmarshal([]byte(parts[5]), &r.Details)); err != nil {
		return Record{}, fmt.Errorf("record of %.50q: %w", field, err)
	}
	return r, nil
}

// better tells which of two records of one slot counts: the later attempt, what a run itself said of its end, that it
// was not run, that it is lost, and any end before none.
func better(a, b Record) bool {
	if a.Attempt != b.Attempt {
		return a.Attempt > b.Attempt
	}
	if rank(a.State) != rank(b.State) {
		return rank(a.State) > rank(b.State)
	}
	return a.Token > b.Token // who asked with the smaller one has lost, if there is another
}

func rank(state string) int {
	switch state {
	case Claimed:
		return 0
	case Lost:
		return 1
	case Missed, Skipped:
		return 2
	}
	return 3
}
