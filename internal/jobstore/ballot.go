package jobstore

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"
)

// Ballot is the number under which a leader writes; a leader may take several. It has 16 digits, the time when it was taken, in µs
// by the nodes' clocks, and ten random hexadecimal digits. Ballots are ordered as texts. The zero value is below all.
type Ballot string

const ballotLen = 26

// NewBallot takes a ballot at an instant of the nodes' clocks.
func NewBallot(at time.Time) Ballot {
	return Ballot(fmt.Sprintf("%016d", max(at.UnixMicro(), 0)) + random(5))
}

// Time returns when it was taken.
func (b Ballot) Time() time.Time {
	if len(b) != ballotLen {
		return time.Time{}
	}
	us, _ := strconv.ParseInt(string(b[:16]), 10, 64)
	return timeOf(us)
}

// ID returns its random digits.
func (b Ballot) ID() string { return string(b[16:]) }

// random returns 2n hexadecimal digits.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// At is the place of a write in the order of all writes of a job: the ballot of its leader, and its number under that ballot.
type At struct {
	Ballot Ballot
	Seq    int
}

// encode returns the text of a place; places are ordered as texts. "" is the zero place.
func (a At) encode() string {
	if a.Ballot == "" {
		return ""
	}
	return fmt.Sprintf("%s%0*d", a.Ballot, seqLen, a.Seq)
}

// IsAfter reports whether a comes after b.
func (a At) IsAfter(b At) bool {
	return a.Ballot > b.Ballot || a.Ballot == b.Ballot && a.Seq > b.Seq
}
