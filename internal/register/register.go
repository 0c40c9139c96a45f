package register

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// Why something was not done; to be told apart with errors.Is.
var (
	// ErrNoQuorum says that too few nodes answered as it would take.
	ErrNoQuorum = errors.New("no quorum of nodes")
	// ErrFenced says that a larger token was promised: another leads, or has led, since.
	ErrFenced = errors.New("a larger token was promised")
	// ErrUnknown says that a quorum of nodes does not know the job.
	ErrUnknown = errors.New("unknown to the nodes")
)

// Config is what a Register works on.
type Config struct {
	Quorum   *quorum.Quorum
	Prefix   string // of all keys
	Election string // whose jobs they are
	List     string // of the nodes' guard: longest lease and length of the list; empty: no guard
	Unseen   bool   // accept nodes whose restarts cannot be seen
}

// Register reaches what the nodes know. Its methods are safe for concurrent use.
type Register struct {
	config Config
	header []any // of the arguments of scripts that write
	silent []any // of those that only read
}

// New makes a Register.
func New(c Config) *Register {
	flags := ""
	if c.Unseen {
		flags = "b"
	}
	return &Register{config: c, header: []any{c.List, flags}, silent: []any{c.List, flags + "s"}}
}

// escape keeps the parts of a key apart: an election's name may have colons.
var escape = strings.NewReplacer("%", "%25", ":", "%3A")

func (r *Register) key(kind, job string) string {
	key := "{" + r.config.Prefix + "}:" + kind + ":" + escape.Replace(r.config.Election)
	if job != "" {
		key += ":" + job
	}
	return key
}

func (r *Register) hash() string       { return "{" + r.config.Prefix + "}" }
func (r *Register) namesKey() string   { return r.key("jobs", "") }
func (r *Register) termsKey() string   { return r.key("terms", "") }
func (r *Register) changesKey() string { return r.key("changes", "") }

// args begin as those of all scripts that write do.
func (r *Register) args(more ...any) []any { return slices.Concat(r.header, more) }

// reading begin as those of all scripts that only read do.
func (r *Register) reading(more ...any) []any { return slices.Concat(r.silent, more) }

// short is why something was not done: too few nodes did their part. cause is why nobody waited for more.
func (r *Register) short(op string, got int, nodes []quorum.NodeError, kind, cause error) error {
	q := r.config.Quorum
	err := error(&quorum.Shortfall{Op: op, Kind: kind, Size: q.Size(), Need: q.Majority(), Got: got, Nodes: nodes})
	if cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// settled judges n things that the nodes are asked at once: of each a quorum has done its part, or none can
// any more. did tells of one node and the i-th.
func (r *Register) settled(n int, did func(a answer, i int) bool) func([]answer) bool {
	return func(answers []answer) bool {
		for i := range n {
			done, open := 0, 0
			for _, a := range answers {
				if !a.Over {
					open++
				} else if did(a, i) {
					done++
				}
			}
			if !r.config.Quorum.Decided(done, open) {
				return false
			}
		}
		return true
	}
}

// fields returns a reply's fields after the time; the error is why there are none.
func fields(a answer) ([]any, error) {
	if a.Err != nil {
		return nil, a.Err
	}
	if len(a.Value) == 0 {
		return nil, errors.New("unexpected reply: it is empty")
	}
	if err := refusal(a.Value); err != nil {
		return nil, err
	}
	return a.Value, nil
}

// refusal is why a node does nothing at all for us.
func refusal(f []any) error {
	code, ok := f[0].(int64)
	if !ok {
		return nil
	}
	switch {
	case code == codeList && len(f) > 1:
		return fmt.Errorf("it is in use with a list of %v nodes", f[1])
	case code == codeLayout && len(f) > 1:
		return fmt.Errorf("what is there was written by another version: layout %v, ours is 1", f[1])
	case code == codeError && len(f) > 1:
		return errors.New(fmt.Sprint(f[1]))
	}
	return nil
}

// table reads a flat list of names and values.
func table(flat any) map[string]string {
	list, _ := flat.([]any)
	m := make(map[string]string, len(list)/2)
	for i := 0; i+1 < len(list); i += 2 {
		name, _ := list[i].(string)
		m[name], _ = list[i+1].(string)
	}
	return m
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

func milli(t time.Time) int64 { return max(t.UnixMilli(), 0) }
func micro(t time.Time) int64 { return max(t.UnixMicro(), 0) }

func timeOf(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
