package redlock

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// reply is what a node said of one lock.
type reply struct {
	yes     bool
	number  uint64        // fencing number; how many wait for the lock, of a release and where it is queued
	value   value         // of whoever holds the lock
	held    bool          // there is a value
	shaky   bool          // the holder could not confirm its last extension
	queued  bool          // it is free, and others are to have it first
	left    time.Duration // of that hold
	longest time.Duration // lease that a guarded node knows of
	unheard bool          // a release could not be published
	swept   *swept        // of a grant that looked for old records
}

// swept is what a look for old records came to.
type swept struct {
	any  bool   // some were removed
	next uint64 // where to look next
	err  error  // why they cannot be removed
}

// maxNumber is the largest fencing number: Lua counts in floating point, exactly up to here.
const maxNumber = 1 << 53

// longestHold is more than any record can have left, since a deadline has 16 digits, and less than a Duration can hold.
const longestHold = 290 * 365 * 24 * time.Hour

// item returns the next item of a reply. None of ours counts below zero; only a node that says that somebody holds the lock is
// taken to have done nothing then.
func item(r *quorum.Reply) (code byte, first, second int64, err error) {
	code, first, second, err = r.Item()
	if err == nil && (first < 0 || second < 0) {
		err = fmt.Errorf("unexpected answer: %c with %d and %d", code, first, second)
		if code == 'h' || code == 'u' {
			err = numberError{recordError(err.Error())}
		}
	}
	return code, first, second, err
}

// readReply reads what all scripts but extend and inspect say of one lock. The error is why the node did nothing.
func readReply(r *quorum.Reply) (reply, error) {
	code, first, second, err := item(r)
	if err != nil {
		return reply{}, err
	}
	return readItem(r, code, first, second)
}

// readGrant reads what acquire says of one lock.
func readGrant(r *quorum.Reply) (reply, error) {
	code, first, second, err := item(r)
	switch {
	case err != nil:
		return reply{}, err
	case code == 'q':
		return reply{queued: true, number: uint64(first)}, nil
	case code == 'u':
		hold, err := readHold(r, first, second)
		hold.shaky = true
		return hold, err
	case code != 'y' || second == 0:
		return readItem(r, code, first, second)
	}
	text, err := r.Text()
	if err != nil {
		return reply{}, err
	}
	s := &swept{any: second > 1}
	if s.next, err = strconv.ParseUint(text, 10, 64); err != nil {
		s.err = fmt.Errorf("old records are not removed: %.200q", text)
	}
	return reply{yes: true, number: uint64(first), swept: s}, checkNumber(r, first)
}

func readItem(r *quorum.Reply, code byte, first, second int64) (reply, error) {
	switch code {
	case 'y':
		return reply{yes: true, number: uint64(first), unheard: second == 1}, checkNumber(r, first)
	case 'n':
		return reply{number: uint64(first), unheard: second == 1}, nil
	case 'h':
		return readHold(r, first, second)
	case 'g':
		if second <= 0 {
			return reply{}, errors.New("unexpected answer: a guard for no lease")
		}
		if err := checkGuard(first, second); err != nil {
			return reply{}, err
		}
		return reply{longest: milliseconds(second)}, guardedError{milliseconds(first)}
	case 'l':
		return reply{}, listError{theirs: first}
	case 't':
		return reply{}, errLate
	case 'b':
		return reply{}, errBlind
	case 'e':
		err := readError(r)
		if isRecordError(err) && first == 1 {
			err = numberError{err}
		}
		return reply{}, err
	}
	return reply{}, fmt.Errorf("unexpected answer %q", code)
}

func readHold(r *quorum.Reply, left, number int64) (reply, error) {
	text, err := r.Text()
	if err != nil {
		return reply{}, err
	}
	v, err := parseValue(text)
	if err != nil {
		return reply{}, err
	}
	if left > longestHold.Milliseconds() {
		return reply{}, numberError{recordError(fmt.Sprintf("the lock is held for another %d ms: no record can say so", left))}
	}
	return reply{value: v, held: true, left: milliseconds(left), number: uint64(number)}, checkNumber(r, number)
}

// checkNumber refuses a fencing number that no node can have counted to: numbers start from clocks and grow by one.
func checkNumber(r *quorum.Reply, n int64) error {
	if n >= maxNumber || n > r.Time+(24*time.Hour).Microseconds() {
		return numberError{recordError(fmt.Sprintf("the number %d is more than a day ahead of the node's clock", n))}
	}
	return nil
}

// checkGuard refuses times that no guard has room for.
func checkGuard(left, longest int64) error {
	if most := longestHold.Milliseconds(); left > most || longest > most {
		return fmt.Errorf("unexpected answer: a guard for another %d ms, with leases of %d ms", left, longest)
	}
	return nil
}

func readError(r *quorum.Reply) error {
	text, err := r.Text()
	if err != nil {
		return err
	}
	return recordError(text)
}

// recordError says that a node has something else than a record of ours. It is about one lock, not about the node.
type recordError string

func (e recordError) Error() string { return string(e) }

func isRecordError(err error) bool {
	_, ok := errors.AsType[recordError](err)
	return ok
}

// numberError is a recordError about a number that no clock explains: somebody has forged it, or the clock is wrong.
type numberError struct{ error }

func (e numberError) Unwrap() error { return e.error }

func isNumberError(err error) bool {
	_, ok := errors.AsType[numberError](err)
	return ok
}

// extension is what a node said of the leases that it was asked to extend together.
type extension struct {
	all    bool          // every one was extended
	codes  []byte        // else: 'y' where it was
	others map[int]reply // what it said of the others, by their places
	errs   map[int]error // or why it did nothing
}

// of is what the node said of the i-th lease.
func (e extension) of(i int) (reply, error) {
	if e.all {
		return reply{yes: true}, nil
	}
	if i >= len(e.codes) {
		return reply{}, fmt.Errorf("the node answered for %d leases only", len(e.codes))
	}
	if e.codes[i] == 'y' {
		return reply{yes: true}, nil
	}
	return e.others[i], e.errs[i]
}

func readExtension(r *quorum.Reply) (extension, error) {
	var e extension
	for r.More() {
		code, first, second, err := item(r)
		if err != nil {
			return e, err
		}
		if (code == 'y' || code == 'a') && first != 0 {
			return e, errors.New("unexpected answer: an extension has no number")
		}
		if code == 'a' {
			e.all = true
			continue
		}
		if code != 'y' {
			e.add(len(e.codes), r, code, first, second)
		}
		e.codes = append(e.codes, code)
	}
	if e.all && e.codes != nil {
		return e, errors.New("unexpected answer: all, and more")
	}
	return e, nil
}

// add notes what was said of a lease that was not extended.
func (e *extension) add(i int, r *quorum.Reply, code byte, first, second int64) {
	if e.others == nil {
		e.others, e.errs = make(map[int]reply), make(map[int]error)
	}
	e.others[i], e.errs[i] = readItem(r, code, first, second)
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
