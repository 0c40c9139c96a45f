package jobstore

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"
)

// Ballot is the number under which a leader writes. A leader may take several. A ballot consists of the time when it was taken, in
// 16 digits (µs by the nodes' clocks), and ten random hexadecimal digits. Ballots are ordered as texts. The zero value is the
// smallest.
type Ballot string

const ballotLen = 26

// NewBallot returns a new ballot, taken at an instant of the nodes' clocks.
func NewBallot(at time.Time) Ballot {
	return Ballot(fmt.Sprintf("%016d", max(at.UnixMicro(), 0)) + random(5))
}

// Time returns when the ballot was taken.
func (b Ballot) Time() time.Time {
	if len(b) != ballotLen {
		return time.Time{}
	}
	us, _ := strconv.ParseInt(string(b[:16]), 10, 64)
	return timeOf(us)
}

// ID returns the random digits.
func (b Ballot) ID() string { return string(b[16:]) }

// random returns 2n hexadecimal digits.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// At is the position of a write in the order of all writes of a job: the ballot, and the write's number under that ballot.
type At struct {
	Ballot Ballot
	Seq    int
}

// encode returns the text of a position. Positions are ordered as texts, and the zero position is "".
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
