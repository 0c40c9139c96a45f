package jobstore

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Ballot is the number under which a leader writes. A leader may take several. A ballot consists of its epoch, in 6 digits, of the
// time when it was taken, in 16 digits (µs by the nodes' clocks), and of four random hexadecimal digits. Ballots are ordered as texts.
// The zero value is the smallest.
//
// Four digits are enough. One leader takes its ballots milliseconds apart, or in different epochs, and only while its lease is valid.
// So two are the same only if leadership changes between them, both leaders' estimates of the nodes' clocks are then equal to the µs,
// and the digits are the same too, once in 65,536 times.
type Ballot string

const (
	epochLen  = 6
	ballotLen = 26
	maxEpoch  = 999_999
)

// NewBallot returns a new ballot of an epoch, taken at an instant of the nodes' clocks.
func NewBallot(epoch int, at time.Time) Ballot {
	return Ballot(fmt.Sprintf("%0*d%016d", epochLen, min(epoch, maxEpoch), max(at.UnixMicro(), 0)) + random(2))
}

// Epoch returns how often the nodes' clocks had been set back, as far as the leader knew.
func (b Ballot) Epoch() int {
	if len(b) != ballotLen {
		return 0
	}
	epoch, _ := strconv.Atoi(string(b[:epochLen]))
	return epoch
}

// Time returns when the ballot was taken.
func (b Ballot) Time() time.Time {
	if len(b) != ballotLen {
		return time.Time{}
	}
	us, _ := strconv.ParseInt(string(b[epochLen:epochLen+16]), 10, 64)
	return timeOf(us)
}

// NewID returns ten random hexadecimal digits.
func NewID() string { return random(5) }

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
func (a At) IsAfter(b At) bool { return a.compare(b) > 0 }

func (a At) compare(b At) int {
	return cmp.Or(strings.Compare(string(a.Ballot), string(b.Ballot)), cmp.Compare(a.Seq, b.Seq))
}
