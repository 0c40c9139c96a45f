package redlock

import (
	"embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/guard"
	"github.com/redlockfx/redlockfx/internal/lists"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

//go:embed *.lua
var files embed.FS

// source returns a script, with the shared parts in place of its include comments.
func source(name string) string {
	script := fileText(name)
	for _, part := range []string{"overwrite", "answer", "line"} {
		script = strings.ReplaceAll(script, "-- include "+part, fileText(part))
	}
	return guard.Include(script)
}

func fileText(name string) string {
	text, err := files.ReadFile(name + ".lua")
	if err != nil {
		panic(err) // the name is wrong in this file
	}
	return string(text)
}

func newScript[T any](name string, read func(*quorum.Reply) (T, error)) *quorum.Script[T] {
	return quorum.NewScript(name, source(name), read)
}

var (
	acquireScript = newScript("acquire", readReply)
	extendScript  = newScript("extend", readExtension)
	repairScript  = newScript("repair", readReply)
	releaseScript = newScript("release", readRelease)
	raiseScript   = newScript("raise", readReply)
	holderScript  = newScript("holder", readReply)
	inspectScript = newScript("inspect", readInspection)
	sweepScript   = newScript("sweep", readSwept)

	scripts = []*quorum.Source{
		acquireScript.Source, extendScript.Source, repairScript.Source, releaseScript.Source, raiseScript.Source,
		holderScript.Source, inspectScript.Source, sweepScript.Source, lists.Script.Source,
	}
)

const (
	// maxTogether is how many locks one call of a script handles. That many block the node for half a millisecond.
	maxTogether = 250
	// maxRenewed is the limit for extensions, which are cheaper.
	maxRenewed = 500
)

// commands are the scripts that do not depend on the list, bound to the keys of one Locker.
type commands struct {
	release, raise, holder *quorum.Command[reply]
	extend                 *quorum.Command[extension]
	inspect                *quorum.Command[inspection]
	sweep                  *quorum.Command[swept]
}

// newCommands makes the commands, and sets how the Locker observes their answers.
func newCommands(l *Locker) commands {
	guarded, publish := "", ""
	if l.settings.RestartGuard {
		guarded = "g"
	}
	if l.channels {
		publish = "p"
	}
	return commands{
		release: releaseScript.Command(maxTogether, constants{publish}, l.hash).Seen(l.observed.seeRelease),
		raise:   raiseScript.Command(1, nil, l.hash),
		holder:  holderScript.Command(maxTogether, nil, l.hash),
		extend:  extendScript.Command(1, constants{guarded}, l.hash),
		inspect: inspectScript.Command(1, constants{l.settings.longestLease()}, l.hash),
		sweep:   sweepScript.Command(1, nil, l.hash),
	}
}

// longestLease returns the longest lease, in milliseconds; 0 without a guard.
func (s *Settings) longestLease() int64 {
	if !s.RestartGuard {
		return 0
	}
	return s.MaxTTL.Milliseconds()
}

// constants are arguments that are the same for every node.
type constants []any

func (c constants) AppendArgs(_ int, args []any) []any { return append(args, c...) }

// reply is a node's answer about one lock.
type reply struct {
	yes         bool
	held        bool          // value is set
	unconfirmed bool          // the holder could not confirm its last extension
	queued      bool          // free, but for those ahead in line
	unpublished bool          // the node could not publish a release
	number      uint64        // fencing number; after a release, the number of processes in line; of a hold, the own place
	value       value         // of the holder
	left        time.Duration // time left of that hold
	longest     time.Duration // longest lease that a guarded node knows of
	placed      time.Time     // of an extension: since when the node has had our record; zero: not known
}

// maxNumber is the limit for fencing numbers: Lua's floating-point numbers are exact up to here.
const maxNumber = 1 << 53

// longestHold is longer than any record can last, since a deadline has 16 digits, and shorter than a Duration's limit.
const longestHold = 290 * 365 * 24 * time.Hour

// item returns the next item of a reply. Our scripts never send negative numbers. A negative number in an item that
// names a holder is a problem of that record only.
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

// readReply reads the answer about one lock of all scripts but extend. The error is why the node did nothing.
func readReply(r *quorum.Reply) (reply, error) {
	code, first, second, err := item(r)
	if err != nil {
		return reply{}, err
	}
	return readItem(r, code, first, second)
}

// readRelease reads the answer to a release: the node does not have the lock as ours, whether it had or not.
func readRelease(r *quorum.Reply) (reply, error) {
	one, err := readReply(r)
	one.yes = err == nil
	return one, err
}

func readItem(r *quorum.Reply, code byte, first, second int64) (reply, error) {
	switch code {
	case 'y':
		return reply{yes: true, number: uint64(first), unpublished: second == 1}, checkNumber(first)
	case 'n':
		return reply{number: uint64(first), unpublished: second == 1}, nil
	case 'q':
		return reply{queued: true, left: milliseconds(first)}, nil
	case 'h', 'u':
		return readHold(r, first, second, code == 'u')
	case 'g':
		if second <= 0 {
			return reply{}, errors.New("unexpected answer: a guard for no lease")
		}
		if err := checkGuard(first, second); err != nil {
			return reply{}, err
		}
		return reply{longest: milliseconds(second)}, guardedError{milliseconds(first)}
	case 'l':
		return reply{}, lists.Refused(first)
	case 't':
		return reply{}, errLate
	case 'b':
		return reply{}, guard.ErrNoIdentity
	case 'e':
		err := readError(r)
		if isRecordError(err) && first == 1 {
			err = numberError{err}
		}
		return reply{}, err
	}
	return reply{}, fmt.Errorf("unexpected answer %q", code)
}

func readHold(r *quorum.Reply, left, number int64, unconfirmed bool) (reply, error) {
	text, err := r.Text()
	if err != nil {
		return reply{}, err
	}
	v, err := parseValue(text)
	if err != nil {
		return reply{}, err
	}
	if left > longestHold.Milliseconds() {
		return reply{}, numberError{recordError(fmt.Sprintf("the lock is held for another %d ms, which no record can store", left))}
	}
	hold := reply{value: v, held: true, left: milliseconds(left), number: uint64(number), unconfirmed: unconfirmed}
	return hold, checkNumber(number)
}

// checkNumber rejects a fencing number that cannot be counted on. Whether a number is plausible is decided by the jury.
func checkNumber(n int64) error {
	if n >= maxNumber {
		return numberError{recordError(fmt.Sprintf("the number %d is too large to count on", n))}
	}
	return nil
}

// checkGuard rejects times that no guard can store.
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

// recordError says that a record was not written by this library. It concerns one lock, not the node.
type recordError string

func (e recordError) Error() string { return string(e) }

func isRecordError(err error) bool {
	_, ok := errors.AsType[recordError](err)
	return ok
}

// numberError is a recordError about a number that no clock explains: it was forged, or the clock is wrong.
type numberError struct{ error }

func (e numberError) Unwrap() error { return e.error }

func isNumberError(err error) bool {
	_, ok := errors.AsType[numberError](err)
	return ok
}

// extension is a node's answer about the leases of one call.
type extension struct {
	all  bool   // all leases were extended
	each []said // otherwise, about each lease
}

// said is a node's answer about one of several leases, or why the node did nothing for it.
type said struct {
	reply reply
	err   error
}

// of returns the node's answer for the i-th lease.
func (e extension) of(i int) (reply, error) {
	switch {
	case e.all:
		return reply{yes: true}, nil
	case i >= len(e.each):
		return reply{}, fmt.Errorf("the node answered for only %d leases", len(e.each))
	}
	return e.each[i].reply, e.each[i].err
}

func readExtension(r *quorum.Reply) (extension, error) {
	var e extension
	for r.More() {
		code, first, second, err := item(r)
		switch {
		case err != nil:
			return e, err
		case (code == 'y' || code == 'a') && first != 0:
			return e, errors.New("unexpected answer: an extension has no number")
		case code == 'a':
			e.all = true
		default:
			one, err := readItem(r, code, first, second)
			e.each = append(e.each, said{one, err})
		}
	}
	if e.all && e.each != nil {
		return e, errors.New("unexpected answer: all, and more")
	}
	return e, nil
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
