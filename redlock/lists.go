package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redlockfx/redlockfx/internal/guard"
	"github.com/redlockfx/redlockfx/internal/lists"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

// membership is the list of nodes that the Locker uses, and the scripts bound to it: all requests of a round name one list.
type membership struct {
	list            lists.List
	argument        string // longest lease and label, in the scripts' format; empty without a guard
	acquire, repair *quorum.Command[reply]
}

// noLabel is the label of requests of a process without a list: no node serves it.
const noLabel = "????????????????"

// newLists makes what finds the list of the Locker. Without a guard there are no lists.
func (l *Locker) newLists() {
	if !l.settings.RestartGuard {
		l.member.Store(l.newMembership(""))
		return
	}
	l.lists = lists.New(lists.Config{
		Quorum: l.quorum, Hash: l.hash, Longest: l.settings.MaxTTL, Unseen: l.settings.UnseenRestarts,
		Use: func(list lists.List) {
			if list == "" {
				l.member.Store(nil)
				return
			}
			l.member.Store(l.newMembership(list))
		},
		Problem: func(node int, err error) { l.observed.problem(node, "list", err) },
	})
	l.first = append(l.first, func() { l.lists.Run(l.open) })
}

func (l *Locker) newMembership(list lists.List) *membership {
	m := &membership{list: list, argument: l.listArgument(list)}
	granting := constants{m.argument, ""}
	if l.settings.UnseenRestarts {
		granting[1] = "b"
	}
	m.acquire = acquireScript.Command(maxTogether, granting, l.hash).Seen(l.observed.seeGrant)
	m.repair = repairScript.Command(maxTogether, granting, l.hash).Seen(l.observed.seeGrant)
	return m
}

func (l *Locker) listArgument(list lists.List) string {
	if !l.settings.RestartGuard {
		return ""
	}
	label := noLabel
	if list != "" {
		label = list.Label()
	}
	return fmt.Sprintf("%012d %s", l.settings.MaxTTL.Milliseconds(), label)
}

// awaitList returns the list of the Locker. If it has none, it has all nodes asked, waits for that for two node timeouts at most, and
// returns why there is none.
func (l *Locker) awaitList(ctx context.Context, op, name string, joins bool) (*membership, error) {
	if m := l.member.Load(); m != nil {
		return m, nil
	}
	reasons := l.look(ctx, joins)
	if m := l.member.Load(); m != nil {
		return m, nil
	}
	if l.isClosed() {
		return nil, fmt.Errorf("%w: %s %q", ErrClosed, op, name)
	}
	failed := &QuorumError{Op: op, Name: name, Size: l.size, Need: l.need, kind: ErrGuarded}
	mistake := false
	for i := range l.size {
		reason := quorum.ErrNoAnswer
		if i < len(reasons) {
			reason = reasons[i]
		}
		if twin, ok := errors.AsType[*lists.TwinError](reason); ok {
			reason, mistake = l.jury.errTwin(twin.Of), true
		} else if _, ok := errors.AsType[lists.Stuck](reason); ok || errors.Is(reason, guard.ErrNoIdentity) {
			mistake = true
		} else if reason != nil && !isListed(reason) {
			failed.kind = ErrNoQuorum
		}
		if reason != nil {
			failed.Nodes = append(failed.Nodes, NodeError{l.quorum.Addr(i), reason})
		}
	}
	if mistake { // somebody must act, whatever else there is
		failed.kind = ErrConfig
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%w: %w", failed, context.Cause(ctx))
	}
	return nil, failed
}

// look waits until the nodes have been asked for their lists, for two node timeouts at most, and returns the problems that there were.
func (l *Locker) look(ctx context.Context, joins bool) []error {
	ctx, cancel := context.WithTimeout(ctx, 2*l.settings.NodeTimeout)
	defer cancel()
	return l.lists.Await(ctx, joins)
}

// relists waits for a look at the nodes if an attempt failed because of nodes with another list, and reports whether it did.
func (l *Locker) relists(ctx context.Context, err error) bool {
	q, ok := errors.AsType[*QuorumError](err)
	if !ok || l.lists == nil {
		return false
	}
	listed := 0
	for _, n := range q.Nodes {
		if isListed(n.Err) {
			listed++
		}
	}
	if listed == 0 || q.Got+listed < q.Need {
		return false
	}
	l.look(ctx, true)
	return true
}

// seeLabel has the nodes asked for their lists if one serves another list.
func (l *Locker) seeLabel(label string) {
	if m := l.member.Load(); m != nil && m.list != "" && label != "" && !strings.HasPrefix(m.list.Label(), label) {
		l.lists.Wake()
	}
}

// argumentOf is [inside.Parts.List].
func (l *Locker) argumentOf(ctx context.Context) string {
	if m := l.member.Load(); m != nil {
		return m.argument
	}
	if l.begin() {
		defer l.calls.Done()
		if m, err := l.awaitList(ctx, "read", "", false); err == nil {
			return m.argument
		}
	}
	return l.listArgument("")
}

// joinNodes is [inside.Parts.JoinNodes].
func (l *Locker) joinNodes(ctx context.Context) []error {
	if l.lists == nil || !l.begin() {
		return slices.Repeat([]error{ErrClosed}, l.size)
	}
	defer l.calls.Done()
	return l.lists.Force(ctx)
}

// NodeList is the list of nodes that a node remembers.
type NodeList struct {
	State ListState
	Nodes int // in the list
	Turn  int // grows from list to list
}

// ListState says whether a node serves its list. Empty: not known.
type ListState string

const (
	ListJoined  ListState = "joined"  // it serves the list
	ListClaimed ListState = "claimed" // it has agreed to a list that is not complete yet, and serves none
	ListFresh   ListState = "fresh"   // it is in no list: it is new, or has lost its data
)

func (n NodeList) String() string {
	if n.Nodes == 0 {
		return string(n.State)
	}
	return fmt.Sprintf("%s, list of %d, turn %d", n.State, n.Nodes, n.Turn)
}

// listOf returns what a node remembers, by its field s.
func listOf(state string) NodeList {
	server, err := lists.Parse(state)
	last := server.Last()
	switch {
	case state == "" || err == nil && last == "":
		return NodeList{State: ListFresh}
	case err != nil:
		return NodeList{}
	case len(server.Taken) > 0:
		return NodeList{ListClaimed, last.Size(), last.Turn()}
	}
	return NodeList{ListJoined, last.Size(), last.Turn()}
}
