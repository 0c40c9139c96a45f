package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Config is the configuration of a Quorum.
type Config struct {
	Timeout time.Duration    // how long a node may take to answer
	Now     func() time.Time // the clock for Answer's times
	Scripts []*Source        // loaded together when a node lacks one

	// Seen is called with each reply and each failure, on any goroutine, before any round receives it. Errors that a
	// node returns for a [Script.Optional] script are not reported.
	Seen func(node int, e Exchange)

	// Inspection is run when a node is first reached and when it is reached again. While it fails, its error is the
	// answer to every call.
	Inspection Inspection
}

// Exchange is one command, which may carry several calls, and its reply.
type Exchange struct {
	Script string
	Header
	Err            error
	Sent, Received time.Time
}

// Inspection is the first call to a node. The zero value does nothing.
type Inspection struct {
	command command
	judge   func(node int, r result) error
	looked  func(node int, r result) (another bool)
}

// NewInspection makes an Inspection. It sends call; judge returns why the node must not be asked anything else, or nil.
// looked is called with answers to the same call on other connections, dialed for this alone, and reports whether they are of
// another server than the last answer; nil: there are no such calls. Calls of both for one node come one after the other.
func NewInspection[T any](
	call Call[T], judge func(node int, a Answer[T]) error, looked func(node int, a Answer[T]) (another bool),
) Inspection {
	i := Inspection{command: call.command, judge: func(node int, r result) error {
		return judge(node, answerOf(&r, call.command.script.read))
	}}
	if looked != nil {
		i.looked = func(node int, r result) bool { return looked(node, answerOf(&r, call.command.script.read)) }
	}
	return i
}

// Quorum is a fixed list of nodes. Its methods are safe for concurrent use.
type Quorum struct {
	config  Config
	nodes   []*node
	waiters sync.Pool // of *waiter
}

// New makes a Quorum of clients. addrs name them in errors.
func New(clients []redis.UniversalClient, addrs []string, config Config) *Quorum {
	q := &Quorum{config: config, waiters: sync.Pool{New: newWaiter}}
	for i, client := range clients {
		q.nodes = append(q.nodes, newNode(&q.config, i, addrs[i], client))
	}
	return q
}

// Size returns the number of nodes.
func (q *Quorum) Size() int { return len(q.nodes) }

// Majority returns the smallest number of nodes that is more than half.
func (q *Quorum) Majority() int { return len(q.nodes)/2 + 1 }

// Timeout returns how long a node may take to answer.
func (q *Quorum) Timeout() time.Duration { return q.config.Timeout }

// Addr returns the name of node i in errors.
func (q *Quorum) Addr(i int) string { return q.nodes[i].addr }

// Inspect makes node i be inspected again before its next call.
func (q *Quorum) Inspect(i int) { q.nodes[i].inspect() }

// Slow reports whether node i did not answer its last call, or takes longer than the hedge delay now.
func (q *Quorum) Slow(i int) bool { return q.nodes[i].slow() }

// Idle waits until no call is under way, or ctx is done. In the latter case, the error names the nodes whose calls
// still run; they end when their clients give up.
func (q *Quorum) Idle(ctx context.Context) error {
	var busy []string
	for _, n := range q.nodes {
		idle := n.idle()
		select {
		case <-idle:
		case <-ctx.Done():
			select {
			case <-idle:
			default:
				busy = append(busy, n.addr)
			}
		}
	}
	if len(busy) > 0 {
		return fmt.Errorf("calls still under way on %s: %w", strings.Join(busy, ", "), context.Cause(ctx))
	}
	return nil
}

// Close refuses further calls. Like Idle, it waits until those under way have ended. Then the connections are closed.
func (q *Quorum) Close(ctx context.Context) error {
	for _, n := range q.nodes {
		n.close()
	}
	err := q.Idle(ctx)
	if err == nil {
		for _, n := range q.nodes {
			n.running.Wait()
		}
	}
	return err
}

// NodeError is why one node did not agree.
type NodeError struct {
	Addr string
	Err  error
}

// Shortfall is the error of a call to which too few nodes agreed.
type Shortfall struct {
	Op              string // the operation
	Kind            error
	Size, Need, Got int         // number of nodes, how many must agree, how many did
	Nodes           []NodeError // nodes that did not agree, in the order of the list
}

func (e *Shortfall) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %v: %d of %d nodes, %d needed", e.Op, e.Kind, e.Got, e.Size, e.Need)
	for i, n := range e.Nodes {
		fmt.Fprintf(&b, "%c %s: %v", ":;"[min(i, 1)], n.Addr, n.Err)
	}
	return b.String()
}

// Unwrap returns the kind and each node's reason.
func (e *Shortfall) Unwrap() []error {
	all := []error{e.Kind}
	for _, n := range e.Nodes {
		all = append(all, n.Err)
	}
	return all
}

// CutShort is the error of a call whose context ended while nodes that could change the outcome had not answered.
func CutShort(op string, cause error) error {
	return fmt.Errorf("%s: ended before all the nodes answered that can decide: %w", op, cause)
}

// Collect asks agrees about each node's answer. agrees returns why the node does not agree, or nil. If ok is false, too few
// nodes agree, and short has their reasons.
func Collect[T any](q *Quorum, answers []Answer[T], agrees func(node int, a *Answer[T]) error) (short *Shortfall, ok bool) {
	short = &Shortfall{Size: q.Size(), Need: q.Majority()}
	var space [UsualNodes]int
	agree := space[:0]
	reasons := make([]error, len(answers))
	for i := range answers {
		if reasons[i] = agrees(i, &answers[i]); reasons[i] == nil {
			agree, reasons[i] = append(agree, i), ErrOtherList
		}
	}
	for _, i := range OfOneList(agree, answers) {
		reasons[i] = nil
		short.Got++
	}
	for i, err := range reasons {
		if err != nil {
			short.Nodes = append(short.Nodes, NodeError{q.Addr(i), err})
		}
	}
	return short, short.Got >= short.Need
}

// UsualNodes is the usual maximum of nodes; more cost an allocation.
const UsualNodes = 9

// ErrOtherList says that a yes does not count.
var ErrOtherList = errors.New("it serves another list of nodes than the others")

// OfOneList returns those of some nodes that serve the same list, which is that of most of them: in one decision, only answers under one
// list count. It reuses nodes.
func OfOneList[T any](nodes []int, answers []Answer[T]) []int {
	same := func(label string) (n int) {
		for _, i := range nodes {
			if answers[i].Label == label {
				n++
			}
		}
		return n
	}
	most, label := 0, ""
	for _, i := range nodes {
		if answers[i].Label == label && most > 0 {
			continue
		}
		if n := same(answers[i].Label); n == len(nodes) {
			return nodes // the usual case
		} else if n > most {
			most, label = n, answers[i].Label
		}
	}
	return slices.DeleteFunc(nodes, func(i int) bool { return answers[i].Label != label })
}

// Of completes the error. cause is why the call ended early; nil if it did not.
func (e *Shortfall) Of(op string, kind, cause error) error {
	e.Op, e.Kind = op, kind
	if cause != nil {
		return fmt.Errorf("%w: %w", e, cause)
	}
	return e
}

// IsDecided reports whether the nodes that agree are a majority, or cannot become one.
func IsDecided[T any](q *Quorum, answers []Answer[T], agrees func(node int, a *Answer[T]) error) bool {
	var space [UsualNodes]int
	agree, open := space[:0], 0
	for i := range answers {
		switch a := &answers[i]; {
		case !a.Over:
			open++
		case agrees(i, a) == nil:
			agree = append(agree, i)
		}
	}
	return q.Decided(len(OfOneList(agree, answers)), open)
}

// Succeeded says that each node agrees that did as it was asked.
func Succeeded[T any](_ int, a *Answer[T]) error { return a.Err }

// AllOver reports whether all nodes have answered.
func AllOver[T any](answers []Answer[T]) bool {
	return !slices.ContainsFunc(answers, func(a Answer[T]) bool { return !a.Over })
}

// Decided reports whether votes are a majority, or cannot become one with the nodes that have not answered.
func (q *Quorum) Decided(votes, open int) bool {
	return votes >= q.Majority() || votes+open < q.Majority()
}
