package jobstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// page is one node's answer about jobs.
type page struct {
	now    time.Time // by its clock
	began  time.Time // start of its incarnation
	header Header
	jobs   []raw // sorted by name
}

// Page is a part of the list of all jobs.
type Page struct {
	Now  time.Time // by the nodes' clocks
	Next string    // the name after which the next page starts; "" if there is none

	answers []page
}

// Page reads at most most jobs after a name, sorted by name. It waits for all nodes if they know different numbers of jobs. If too few
// nodes answer, the error is [ErrNoQuorum].
func (s *Store) Page(ctx context.Context, after string, most int) (Page, error) {
	most = min(most, MaxJobs)
	answers, now, err := s.read(ctx, "jobs", []any{after, most}, func(a, b *page) bool { return len(a.jobs) == len(b.jobs) })
	if err != nil {
		return Page{}, err
	}
	p := Page{Now: now, answers: answers}
	ends := make([]string, 0, len(answers)) // of full pages
	for i := range answers {
		a := &answers[i]
		a.dropUpTo(after)
		if n := len(a.jobs); n >= most {
			ends = append(ends, a.jobs[n-1].name)
		}
	}
	// The page ends where the answers of a majority end, so that a single node with endless names cannot hold it up.
	if others := len(answers) - len(ends); others < s.config.Quorum.Majority() {
		slices.Sort(ends)
		p.Next = ends[len(ends)-(s.config.Quorum.Majority()-others)]
	}
	return p, nil
}

// dropUpTo drops the jobs up to a name, which the caller has already. So the names advance with each page, whatever a node returns.
func (p *page) dropUpTo(name string) {
	n, found := slices.BinarySearchFunc(p.jobs, name, func(job raw, name string) int { return strings.Compare(job.name, name) })
	if found {
		n++
	}
	p.jobs = p.jobs[n:]
}

// Len returns about how many jobs the page has.
func (p Page) Len() int { return longest(p.answers) }

// longest returns the largest number of jobs in an answer.
func longest(pages []page) (n int) {
	for _, p := range pages {
		n = max(n, len(p.jobs))
	}
	return n
}

// Views decodes the jobs of the page. A job has an error if no node has a state of it that can be read.
func (p Page) Views() []View {
	views := viewsOf(p.answers)
	if p.Next != "" { // an answer may go further
		views = slices.DeleteFunc(views, func(v View) bool { return v.Job > p.Next })
	}
	return views
}

// read asks the nodes for jobs. It waits for all nodes unless the first answers are alike.
func (s *Store) read(ctx context.Context, op string, args []any, alike func(a, b *page) bool) ([]page, time.Time, error) {
	call := newCall(pageScript, s.keys(s.requestsKey(), s.namesKey()), slices.Concat(s.asking(ctx), args))
	return askAll(ctx, s, op, call, alike)
}

// askAll returns what a majority of nodes says whose clocks agree. If these answers are not alike, it waits for the other nodes too. alike
// may be nil.
func askAll[T any](ctx context.Context, s *Store, op string, call quorum.Call[T], alike func(a, b *T) bool) (good []T, now time.Time, err error) {
	answers, now, err := ask(ctx, s, op, call, func(answers []quorum.Answer[T]) bool { return quorum.AreAlike(answers, alike) })
	if err != nil {
		return nil, now, err
	}
	for _, a := range answers {
		if a.Err == nil {
			good = append(good, a.Value)
		}
	}
	return good, now, nil
}

// ask asks the nodes until a majority has answered whose clocks agree, and these answers are enough. now is the time by these clocks. An
// answer of a node whose clock disagrees has an error.
func ask[T any](
	ctx context.Context, s *Store, op string, call quorum.Call[T], areEnough func([]quorum.Answer[T]) bool,
) (answers []quorum.Answer[T], now time.Time, err error) {
	q := s.config.Quorum
	round, cause := quorum.Ask(ctx, q, call, func(answers []quorum.Answer[T]) bool {
		now, _ := agreed(answers, q.Majority(), q.Timeout())
		return !now.IsZero() && areEnough(answers)
	})
	answers = round.Answers()
	now, got := agreed(answers, q.Majority(), q.Timeout())
	for i := range answers {
		if a := &answers[i]; a.Err == nil && !now.IsZero() {
			a.Err = isOff(a.Time, now, q.Timeout())
		}
	}
	short, ok := quorum.Collect(q, answers, quorum.Succeeded)
	switch {
	case now.IsZero():
		if ok {
			cause = ErrClock
		}
		short.Got = got // of those, the clocks agree
		return answers, now, short.Of(op, kindOf(short), cause)
	case cause != nil:
		return answers, now, quorum.CutShort(op, cause)
	}
	return answers, now, nil
}

// kindOf returns [ErrFenced] if larger ballots are the reason why too few nodes agree, and else [ErrNoQuorum].
func kindOf(short *quorum.Shortfall) error {
	fenced := 0
	for _, n := range short.Nodes {
		if errors.Is(n.Err, ErrFenced) {
			fenced++
		}
	}
	if fenced > short.Size-short.Need {
		return ErrFenced
	}
	return ErrNoQuorum
}

func readPage(r *reply) page {
	p := page{now: timeOf(r.Time), began: r.began, header: r.header()}
	p.jobs = make([]raw, 0, len(r.Rest())/2+1) // most jobs have two texts
	for r.more() {
		name := r.text()
		job, more := readRaw(r)
		job.name, job.asked = name, readTexts(r, more, decodeRequest)
		if last := len(p.jobs) - 1; last >= 0 && name <= p.jobs[last].name || last+2 > MaxJobs {
			r.fail(fmt.Errorf("unexpected reply: job %.80q is the %d. of a page, after %.80q", name, last+2, p.jobs[last].name))
		}
		p.jobs = append(p.jobs, job)
	}
	return p
}

// tooNew is how far ahead of the nodes' clocks a record is ignored. It allows for clocks that are set back by less.
const tooNew = 24 * time.Hour

// History returns the newest n records of a job, the newest first. If too few nodes answer, the error is [ErrNoQuorum].
func (s *Store) History(ctx context.Context, job string, n int) ([]Record, error) {
	args := append(s.asking(ctx), n)
	lists, now, err := askAll(ctx, s, "history of "+Label(job), newCall(runsScript, s.keys(s.runsKey(job)), args), nil)
	if err != nil {
		return nil, err
	}
	rows := slices.DeleteFunc(rowsOf(lists), func(r Record) bool { // a record of the far future would be the newest forever
		return latest(r.Slot.At, written(r)).After(now.Add(tooNew))
	})
	ahead := func(r Record) int { // 1 if the record was made before the nodes' clocks were set back
		return max(written(r).Compare(now.Add(Ahead)), 0)
	}
	slices.SortStableFunc(rows, func(a, b Record) int {
		return cmp.Or(cmp.Compare(ahead(a), ahead(b)), written(b).Compare(written(a)), b.Slot.At.Compare(a.Slot.At), cmp.Compare(b.Attempt, a.Attempt))
	})
	return rows[:min(len(rows), n)], nil
}

// written returns when a record was made.
func written(r Record) time.Time { return latest(r.Start, r.End) }

func readRuns(r *reply) []Record { return readList(r, decodeRecord) }
