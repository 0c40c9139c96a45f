package jobstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// MaxJobs bounds the jobs of one call.
const MaxJobs = 500

// Promise is a node's answer to a prepare.
type Promise struct {
	Node     int
	Err      error     // why it does not promise
	Time     time.Time // by its clock
	Began    time.Time // start of its incarnation
	Floor    time.Time // if it does not know a job, no tick up to here may be opened: the job may have been deleted
	Previous Header    // before the promise
	Owes     bool      // only all nodes together know what was decided in earlier lists of nodes, unless a majority does not owe
	New      bool      // it owes, but had nothing to lose when it joined its first list, and has lost nothing since
	Jobs     []Found   // in the order of the request
}

// Kind says whether a node knows a job, and from which incarnation.
type Kind int

// The kinds.
const (
	None    Kind = iota // the node does not know the job
	Present             // from its present incarnation
	Stale               // from an earlier incarnation
)

// Found is what a node knows of a job.
type Found struct {
	Kind Kind
	Written
	Err   error         // why it cannot be used
	Ahead time.Duration // how far something of it is ahead of the node's clock; not above zero: nothing is

	text string // of the state
}

// Prepare asks the nodes to promise a ballot, and returns what each of them knows of the jobs, at most [MaxJobs]. It returns as soon
// as a majority has the same state of each job in its present incarnation, without an open run. Otherwise it waits for all
// nodes, or for the node timeout. A single node may know the end of a run, or show that a run has not started. The error says that no
// majority has promised: [ErrFenced] if larger ballots are the reason, otherwise [ErrNoQuorum]. If ctx ends first, the error is its
// cause. The promises are returned with any error.
func (s *Store) Prepare(ctx context.Context, b Ballot, leader Leader, jobs []string) ([]Promise, error) {
	args := append(s.leading(ctx), string(b), leader.encode())
	for _, job := range jobs {
		args = append(args, job)
	}
	call := newCall(prepareScript, s.keys(), args)
	answers, _, err := ask(ctx, s, "prepare", call, func(answers []quorum.Answer[Promise]) bool {
		if areWhole(s, "prepare", answers, (*Promise).isWhole) != nil {
			return false
		}
		promises := promisesOf(answers, len(jobs))
		for i := range jobs {
			if !isSettled(promises, i, s.config.Quorum.Majority()) {
				return false
			}
		}
		return true
	})
	promises := promisesOf(answers, len(jobs))
	if err == nil {
		err = areWhole(s, "prepare", answers, (*Promise).isWhole)
	}
	for _, p := range promises {
		for j := range p.Jobs {
			if f := &p.Jobs[j]; f.Err == nil && f.Kind == Present && f.At.Ballot > b {
				f.Err = fmt.Errorf("its state was written under ballot %s, which it has not promised", f.At.Ballot)
			}
		}
	}
	return promises, err
}

func (p *Promise) isWhole() bool { return !p.Owes }

// areWhole returns an error unless the answers know what was decided in earlier lists of nodes: a majority of the nodes is whole, or all
// have answered.
func areWhole[T any](s *Store, op string, answers []quorum.Answer[T], isWhole func(*T) bool) error {
	q := s.config.Quorum
	if short, _ := quorum.Collect(q, answers, quorum.Succeeded); short.Got == short.Size {
		return nil
	}
	short, ok := quorum.Collect(q, answers, func(_ int, a *quorum.Answer[T]) error {
		if a.Err == nil && !isWhole(&a.Value) {
			return errNotWhole
		}
		return a.Err
	})
	if ok {
		return nil
	}
	return short.Of(op, ErrNoQuorum, nil)
}

var errNotWhole = errors.New("it has joined another list of nodes, and its jobs are not written there yet: all nodes are needed once")

func promisesOf(answers []quorum.Answer[Promise], jobs int) []Promise {
	promises := make([]Promise, len(answers))
	for i, a := range answers {
		p := a.Value
		p.Node, p.Err = i, a.Err
		if p.Err == nil && len(p.Jobs) != jobs {
			p.Err = fmt.Errorf("unexpected reply: it has %d of %d jobs", len(p.Jobs), jobs)
		}
		promises[i] = p
	}
	return promises
}

// isSettled reports whether further answers cannot change what a leader does about the i-th job: a majority has the same state of it,
// without an open run, and no node has another one.
func isSettled(promises []Promise, i, majority int) bool {
	present := presentOf(promises, i)
	chosen := majorityOf(present, majority)
	return chosen != nil && len(chosen.State.Open) == 0 && !slices.ContainsFunc(present, func(f *Found) bool { return !f.isSame(chosen) })
}

// readPrepared reads the reply of the script prepare.
func readPrepared(r *reply) Promise {
	p := Promise{Time: timeOf(r.Time), Began: r.began, Previous: r.header(), Owes: !r.whole, New: r.empty}
	ms, err := strconv.ParseInt(r.text(), 10, 64)
	r.fail(err)
	if ms > 0 {
		p.Floor = time.UnixMilli(ms).UTC()
	}
	for r.more() {
		raw, _ := readRaw(r)
		p.Jobs = append(p.Jobs, Found{})
		f := &p.Jobs[len(p.Jobs)-1]
		raw.decode(p.Time, f)
		if by := p.Floor.Sub(p.Time); f.Kind == None && by > Ahead {
			f.Ahead, f.Err = max(f.Ahead, by), cmp.Or(f.Err, fmt.Errorf("the mark of its deleted jobs is %w, by %v", ErrAhead, by))
		}
	}
	return p
}

// raw is what a node knows of a job, before the state is decoded.
type raw struct {
	kind  Kind
	at    At
	state string
	err   error // why it cannot be used

	// Only in a page:
	name  string
	asked []Request // requests that its leader may not have applied yet
}

// readRaw reads one job's item and its entry. more is the number of texts that follow.
func readRaw(r *reply) (f raw, more int64) {
	code, more := r.item("nvo")
	switch code {
	case 'v':
		f.kind = Present
	case 'o':
		f.kind = Stale
	default:
		return f, more
	}
	f.at, f.state, f.err = splitEntry(r.text())
	return f, more
}

// decode decodes the state into f, since a State is large. now is by the node's clock.
func (r *raw) decode(now time.Time, f *Found) {
	*f = Found{Kind: r.kind, Written: Written{At: r.at}, Err: r.err, text: r.state}
	if r.kind != None && r.err == nil {
		f.Err = f.State.decode(r.state)
	}
	if f.Err == nil {
		f.Ahead, f.Err = f.aheadBy(now)
	}
}

// Widths of an entry's parts.
const (
	tagLen     = 28
	seqLen     = 8
	markLen    = 13
	recordsLen = 2
	entryLen   = tagLen + ballotLen + seqLen + markLen + recordsLen
)

// maxRecords is the largest number of records in an entry. A node keeps fewer of a job, so that many would replace all of them.
const maxRecords = 99

// splitEntry returns the parts of a job's entry.
func splitEntry(text string) (at At, state string, err error) {
	if len(text) < entryLen {
		return at, "", fmt.Errorf("the entry of the job cannot be read: %.100q", text)
	}
	seq, err := strconv.Atoi(text[tagLen+ballotLen : tagLen+ballotLen+seqLen])
	if err != nil {
		return at, "", fmt.Errorf("the entry of the job cannot be read: %w", err)
	}
	return At{Ballot: Ballot(text[tagLen : tagLen+ballotLen]), Seq: seq}, text[entryLen:], nil
}
