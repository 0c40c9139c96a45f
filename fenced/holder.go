package fenced

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/name"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// maxKey is the longest key, in bytes: that of a run whose job has the longest name.
const maxKey = 250

const maxDigest = 64 // bytes: SHA-256 in hexadecimal digits

// Holder is who wants to write to a resource. [Run], [Term] and [Lease] return one; its fields may be changed before it is used.
type Holder struct {
	// Resource is what the fence protects: 1 to 200 bytes of UTF-8 without invisible characters. Tokens of different elections or
	// locks cannot be compared, so each resource belongs to one of them.
	Resource string
	// Token is the fencing number.
	Token uint64
	// Key, at most 250 bytes, identifies the work: the work of one key is done once. Without a key, only the fence is
	// checked.
	Key string
	// Tick is an instant that belongs to the Key, the same whenever that Key is used. [DB.Clean] removes keys by their
	// ticks.
	Tick time.Time
	// Digest, at most 64 bytes, identifies what the Key is used for, for example by a hash of the request. It may be
	// empty. A Key that is recorded with another Digest is refused with [ErrReused], instead of being taken for a
	// repetition.
	Digest string
}

// Run returns the holder for a run of a job. Its resource is the name of the job. Set Resource to let several jobs of
// one scheduler write to the same resource, or if services with jobs of the same name share the tables.
func Run(run scheduler.Run) Holder {
	return Holder{Resource: run.Job, Token: run.Token, Key: run.Key(), Tick: run.Tick}
}

// Term returns the holder for a leader's term, without a key.
func Term(resource string, term *election.Term) Holder {
	return Holder{Resource: resource, Token: term.Token()}
}

// Lease returns the holder for a lease, without a key. Its resource is the name of the lock.
func Lease(lease *redlock.Lease) Holder {
	return Holder{Resource: lease.Name(), Token: lease.Token()}
}

// problem returns an error that names everything that is wrong.
func (h Holder) problem() error {
	problems := []error{name.Check("resource", h.Resource)}
	switch {
	case h.Token == 0:
		problems = append(problems, errors.New("token 0: it belongs to no lease"))
	case h.Token > math.MaxInt64:
		problems = append(problems, fmt.Errorf("token %d is larger than %d", h.Token, int64(math.MaxInt64)))
	}
	if h.Digest != "" {
		problems = append(problems, name.CheckLen("digest", h.Digest, maxDigest))
	}
	if h.Key == "" {
		return errors.Join(problems...)
	}
	problems = append(problems, name.CheckLen("key", h.Key, maxKey))
	if h.tick() <= 0 {
		problems = append(problems, fmt.Errorf("the tick %v of key %.40q is not after 1970", h.Tick, h.Key))
	}
	return errors.Join(problems...)
}

// tick is what the tables hold: microseconds since 1970.
func (h Holder) tick() int64 { return h.Tick.UnixMicro() }

func (h Holder) String() string {
	if h.Key == "" {
		return fmt.Sprintf("%q with token %d", h.Resource, h.Token)
	}
	return fmt.Sprintf("%q with token %d and key %q", h.Resource, h.Token, h.Key)
}
