package main

import (
	"slices"
	"time"
)

// pause is how long a replica that holds may not write before that counts as a pause: it was stopped, or the machine was busy.
const pause = 150 * time.Millisecond

// span is the time in which a replica wrote without a pause, in one turn.
type span struct {
	replica    int
	turn       int64
	start, end time.Duration
}

// spansOf returns when the replicas wrote.
func spansOf(events []event) (all []span) {
	last := make(map[int]int) // by replica, the index of its last span
	for _, e := range sorted(events) {
		if e.Kind != write {
			continue
		}
		i, ok := last[e.Replica]
		if !ok || all[i].turn != e.Turn || e.At-all[i].end > pause {
			all = append(all, span{e.Replica, e.Turn, e.At, e.At})
			i = len(all) - 1
			last[e.Replica] = i
		}
		all[i].end = e.At
	}
	return all
}

func sorted(events []event) []event {
	return slices.SortedFunc(slices.Values(events), func(a, b event) int { return int(a.At - b.At) })
}

// held is what became of a holder.
type held struct {
	Overlap time.Duration // in which two replicas wrote
	Stale   int           // writes after another replica had begun later than the writer
	Refused int           // others of this kind, which a resource that checks tokens refuses
	Next    time.Duration // from the fault until the first write of a later turn; negative: never
}

// judgeHolder judges the events of a holder. fault is when the replica that held was made to fail.
func judgeHolder(events []event, fault time.Duration) (h held) {
	spans := spansOf(events)
	for i, a := range spans {
		for _, b := range spans[i+1:] {
			if a.replica != b.replica {
				h.Overlap += max(0, min(a.end, b.end)-max(a.start, b.start))
			}
		}
	}
	var newest event // the write that began the latest turn
	h.Next = -1
	for _, e := range sorted(events) {
		if e.Kind != write {
			continue
		}
		switch {
		case e.Turn > newest.Turn:
			newest = e
		case e.Turn == newest.Turn || e.Replica == newest.Replica:
		case e.Token < newest.Token:
			h.Refused++
		default:
			h.Stale++
		}
		if h.Next < 0 && e.Turn > int64(fault) {
			h.Next = e.At - fault
		}
	}
	return h
}

// ran is what became of a scheduler's ticks.
type ran struct {
	Ticks, Twice, Lost int
	Next               time.Duration // from the fault until a run begins; negative: never
}

// judgeTicks judges the ticks after from and before to. fault is as in judgeHolder.
func judgeTicks(events []event, from, to time.Time, fault time.Duration) (r ran) {
	runs := make(map[time.Time]int)
	r.Next = -1
	for _, e := range sorted(events) {
		if e.Kind != begin {
			continue
		}
		runs[e.Tick.UTC()]++
		if r.Next < 0 && e.At > fault {
			r.Next = e.At - fault
		}
	}
	for tick := from.UTC().Truncate(tickEvery).Add(tickEvery); tick.Before(to); tick = tick.Add(tickEvery) {
		r.Ticks++
		switch n := runs[tick]; {
		case n == 0:
			r.Lost++
		case n > 1:
			r.Twice++
		}
	}
	return r
}
