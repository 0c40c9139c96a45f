package jobstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// View is what a majority knows of a job, to show it.
type View struct {
	Job            string
	At             At // of the state
	State          State
	Pause, Trigger Setting
	Err            error // why the state cannot be read; nil: it is there
}

// page is one node's answer about jobs.
type page struct {
	now    time.Time // by its clock
	header Header
	names  []string
	jobs   []raw
}

// Page is a part of all jobs.
type Page struct {
	Now  time.Time // by the nodes' clocks
	Next string    // the name after which the next page starts; "" if there is none

	answers []page
}

// Page reads at most most jobs after a name, in the order of their names. [ErrNoQuorum].
func (s *Store) Page(ctx context.Context, after string, most int) (Page, error) {
	most = min(most, MaxJobs)
	answers, now, err := s.read(ctx, "jobs", []any{after, most})
	if err != nil {
		return Page{}, err
	}
	p := Page{Now: now, answers: answers}
	for i := range answers {
		a := &answers[i]
		a.dropUpTo(after)
		if n := len(a.names); n >= most && (p.Next == "" || a.names[n-1] < p.Next) {
			p.Next = a.names[n-1]
		}
	}
	return p, nil
}

// dropUpTo drops the jobs up to a name that was not asked for: with each page the names are later ones, whatever a node says.
func (p *page) dropUpTo(name string) {
	n, found := slices.BinarySearch(p.names, name)
	if found {
		n++
	}
	p.names, p.jobs = p.names[n:], p.jobs[n:]
}

// Len is about how many jobs the page has.
func (p Page) Len() int { return longest(p.answers) }

// longest is how many jobs that node knows of which knows of most.
func longest(pages []page) (n int) {
	for _, p := range pages {
		n = max(n, len(p.names))
	}
	return n
}

// Views decodes the jobs of the page. A job of which no node has a state that can be read has an error.
func (p Page) Views() []View {
	views, _ := merge(p.answers, p.Now)
	if p.Next != "" { // a node may know of more up to where another's page ends
		views = slices.DeleteFunc(views, func(v View) bool { return v.Job > p.Next })
	}
	return views
}

// Views returns those of the jobs that are known and can be read, [MaxJobs] at most, in the order of their names. header is the
// one with the largest ballot, now is the time by the nodes' clocks. [ErrNoQuorum].
func (s *Store) Views(ctx context.Context, jobs ...string) (views []View, header Header, now time.Time, err error) {
	args := []any{"", 0}
	for _, job := range slices.Compact(slices.Sorted(slices.Values(jobs))) {
		args = append(args, job)
	}
	if len(jobs) == 0 {
		return nil, Header{}, time.Time{}, nil
	}
	pages, now, err := s.read(ctx, "jobs", args)
	if err != nil {
		return nil, Header{}, time.Time{}, err
	}
	views, header = merge(pages, now)
	return slices.DeleteFunc(views, func(v View) bool { return v.Err != nil }), header, now, nil
}

func (s *Store) read(ctx context.Context, op string, args []any) ([]page, time.Time, error) {
	return ask(ctx, s, op, newCall(pageScript, s.keys(s.settingsKey(), s.namesKey()), slices.Concat(s.reading, args)))
}

// ask returns the answers of a majority whose clocks agree.
func ask[T any](ctx context.Context, s *Store, op string, call quorum.Call[T]) (good []T, now time.Time, err error) {
	q := s.config.Quorum
	round, cause := quorum.Ask(ctx, q, call, func(answers []quorum.Answer[T]) bool {
		now, _ := agreed(answers, q.Majority(), q.Timeout())
		return !now.IsZero()
	})
	answers := round.Answers()
	now, got := agreed(answers, q.Majority(), q.Timeout())
	var failed []quorum.NodeError
	for i, a := range answers {
		err := a.Err
		if err == nil && !now.IsZero() {
			err = isOff(a.Time, now, q.Timeout())
		}
		if err == nil {
			good = append(good, a.Value)
		} else {
			failed = append(failed, quorum.NodeError{Addr: q.Addr(i), Err: err})
		}
	}
	if now.IsZero() {
		if len(good) >= q.Majority() {
			cause = ErrClock
		}
		return nil, now, s.shortfall(op, got, failed, ErrNoQuorum, cause)
	}
	return good, now, nil
}

// merge returns the state of each job that was written last. now is the time by the nodes' clocks.
func merge(pages []page, now time.Time) (views []View, header Header) {
	most := longest(pages)
	views = make([]View, 0, most)
	places := make(map[string]int, most) // in views
	for _, p := range pages {
		header = header.merge(p.header)
		for i := range p.jobs {
			name, f := p.names[i], &p.jobs[i]
			at, known := places[name]
			if f.kind != None && (!known || views[at].Err != nil || f.at.IsAfter(views[at].At)) {
				found := f.decode(p.now) // most often only the first node's: all have the same state
				if !known {
					at, known = len(views), true
					places[name], views = at, append(views, View{Job: name, Err: found.Err})
				}
				if found.Err == nil {
					views[at].At, views[at].State, views[at].Err = found.At, found.State, nil
				}
			}
			if known {
				v := &views[at]
				v.Pause, v.Trigger = newest(v.Pause, f.pause, now), newest(v.Trigger, f.trigger, now)
			}
		}
	}
	for i := range views {
		v := &views[i]
		v.Pause = newest(v.Pause, v.State.Pause, now)
	}
	byName := func(a, b View) int { return strings.Compare(a.Job, b.Job) }
	if !slices.IsSortedFunc(views, byName) { // it is where all nodes know the same jobs
		slices.SortFunc(views, byName)
	}
	return views, header
}

func readPage(r *quorum.Reply) (p page, err error) {
	p.now = timeOf(r.Time)
	if p.header, err = readHeader(r); err != nil {
		return p, err
	}
	n := len(r.Rest())/2 + 1 // most jobs have two texts
	p.names, p.jobs = make([]string, 0, n), make([]raw, 0, n)
	for r.More() {
		name, err := r.Text()
		if err != nil {
			return p, err
		}
		job, err := readRaw(r)
		if err != nil {
			return p, err
		}
		if last := len(p.names) - 1; last >= 0 && name <= p.names[last] || last+2 > MaxJobs {
			return p, fmt.Errorf("unexpected reply: job %.80q is the %d. of a page, after %.80q", name, last+2, p.names[last])
		}
		p.names, p.jobs = append(p.names, name), append(p.jobs, job)
	}
	return p, nil
}

// readHeader reads the first part of the replies of scripts that only read.
func readHeader(r *quorum.Reply) (h Header, err error) {
	if _, err := refused(r); err != nil {
		return h, err
	}
	text, err := r.Text()
	if err != nil {
		return h, err
	}
	return decodeHeader(text)
}

// tooNew is how far ahead of the nodes' clocks a record is not believed. Clocks are set back by less.
const tooNew = 24 * time.Hour

// History returns the newest n records of a job, the newest first. [ErrNoQuorum].
func (s *Store) History(ctx context.Context, job string, n int) ([]Record, error) {
	args := append(s.reading[:len(s.reading):len(s.reading)], n)
	op := fmt.Sprintf("history of %q", job)
	answers, now, err := ask(ctx, s, op, newCall(runsScript, s.keys(s.runsKey(job)), args))
	if err != nil {
		return nil, err
	}
	found := make(map[Record]bool) // a node may have one twice, or have missed one
	for _, records := range answers {
		for _, record := range records {
			if !latest(record.Slot.At, written(record)).After(now.Add(tooNew)) { // else it would be the newest forever
				found[record] = true
			}
		}
	}
	all := slices.SortedFunc(maps.Keys(found), func(a, b Record) int {
		return cmp.Or(written(b).Compare(written(a)), b.Slot.At.Compare(a.Slot.At), cmp.Compare(b.Attempt, a.Attempt))
	})
	return all[:min(n, len(all))], nil
}

// written is when a record was made.
func written(r Record) time.Time { return latest(r.Start, r.End) }

func readRuns(r *quorum.Reply) ([]Record, error) { return readList(r, decodeRecord) }

// readList reads the items of a list. Of one that is spoilt, people see nothing.
func readList[T any](r *quorum.Reply, decode func(string) (T, error)) (all []T, err error) {
	if _, err = readHeader(r); err != nil {
		return nil, err
	}
	code, n, _, err := r.Item()
	if err != nil || code != 'k' {
		return nil, first(err, fmt.Errorf("unexpected item %q", code))
	}
	for range n {
		text, err := r.Text()
		if err != nil {
			return nil, err
		}
		if one, err := decode(text); err == nil {
			all = append(all, one)
		}
	}
	return all, nil
}
