package termlog

import (
	"cmp"
	"context"
	_ "embed" // for the script
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/name"
	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/redlock"
)

// Read returns the newest terms of an election, at most 100, newest first, as a quorum of nodes knows them. This process need
// not campaign, and may have no Elector. A term is missing if its leader has no [Hooks], or if the nodes could not record it while
// it lasted. One that has just begun may be missing. The error is [redlock.ErrNoQuorum] if too few nodes answered.
func Read(ctx context.Context, locker *redlock.Locker, election string) ([]Record, error) {
	op, parts := fmt.Sprintf("termlog: terms of %q", election), inside.Of(locker)
	call := termsScript.Command(1, nil, key(locker, election)).Call(nil)
	answers, err := ask(ctx, parts.Quorum, op, call, quorum.SameRows[Record])
	if err != nil {
		return nil, err
	}
	now, known := locker.Time()
	quorum.DropRows(answers, func(r Record) bool { // otherwise records of the far future would be the newest forever
		return known && (!parts.Believes(r.Token) || r.Since.After(now.Add(time.Minute)))
	})
	enough := parts.Quorum.Enough(len(answers))
	ends := splitEnds(answers)
	all := quorum.NewestRows(answers, enough, maxTerms, byToken)
	all = slices.CompactFunc(all, func(a, b Record) bool { return a.Token == b.Token })
	for i := range all {
		all[i] = latestOf(ends[all[i]], enough)
	}
	return all, nil
}

// splitEnds clears Until and Ended in the rows, because nodes differ in them if one of them missed the last record of a term. It
// returns the original rows, by the cleared row.
func splitEnds(answers [][]Record) map[Record][]Record {
	ends := make(map[Record][]Record)
	for _, rows := range answers {
		for i, r := range rows {
			rows[i].Until, rows[i].Ended = time.Time{}, false
			ends[rows[i]] = append(ends[rows[i]], r)
		}
	}
	return ends
}

// latestOf returns the record of a term with the latest end that enough nodes confirm. A node confirms an end if its own record is
// as late or later.
func latestOf(records []Record, enough int) Record {
	slices.SortFunc(records, func(a, b Record) int {
		if c := b.Until.Compare(a.Until); c != 0 || a.Ended == b.Ended {
			return c
		}
		if a.Ended {
			return -1
		}
		return 1
	})
	return records[min(enough, len(records))-1]
}

// byToken sorts the newest term first.
func byToken(a, b Record) int { return cmp.Compare(b.Token, a.Token) }

// ask returns the values of a majority of nodes. If their values are not alike, it waits for the other nodes too. If ctx ends first,
// it returns at once without a result; the calls to the nodes end by the node timeout.
func ask[T any](ctx context.Context, q *quorum.Quorum, op string, call quorum.Call[T], alike func(a, b *T) bool) (values []T, err error) {
	round, cause := quorum.Ask(ctx, q, call, func(answers []quorum.Answer[T]) bool {
		return quorum.IsDecided(q, answers, quorum.Succeeded) && quorum.AreAlike(answers, alike)
	})
	short, ok := quorum.Collect(q, round.Answers(), func(_ int, a *quorum.Answer[T]) error {
		if a.Err == nil {
			values = append(values, a.Value)
		}
		return a.Err
	})
	switch {
	case !ok:
		return nil, short.Of(op, redlock.ErrNoQuorum, cause)
	case cause != nil:
		return nil, quorum.CutShort(op, cause)
	}
	return values, nil
}

const maxTerms = 100 // terms that a node keeps; the scripts have this number too

var (
	//go:embed terms.lua
	termsSource string
	termsScript = quorum.NewScript("terms", termsSource, readTerms).Optional()
)

// readTerms decodes the records of a node. It trusts nothing in them.
func readTerms(r *quorum.Reply) (records []Record, err error) {
	n := len(r.Rest())
	if n > maxTerms {
		return nil, fmt.Errorf("%d records of terms, at most %d are allowed", n, maxTerms)
	}
	for range n {
		text, err := r.Text()
		if err != nil {
			return nil, err
		}
		record, err := decodeTerm(text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(records, func(r Record) bool { return r.Token == record.Token }) {
			continue // a node has one vote on each term
		}
		records = append(records, record)
	}
	return records, nil
}

func decodeTerm(text string) (Record, error) {
	token, rest, _ := strings.Cut(text, " ")
	times, replica, _ := strings.Cut(rest, " ")
	times, ended := strings.CutSuffix(times, ".")
	since, lasted, lasts := strings.Cut(times, "+")
	number, err1 := strconv.ParseUint(token, 10, 53) // all tokens are below 2^53
	micros, err2 := strconv.ParseUint(since, 10, 53)
	if err1 != nil || err2 != nil || number == 0 || replica == "" || len(replica) > name.MaxLen {
		return Record{}, fmt.Errorf("not a record of a term: %.100q", text)
	}
	r := Record{Token: number, Replica: replica, Since: time.UnixMicro(int64(micros)).UTC(), Ended: ended}
	if lasts {
		more, err := strconv.ParseUint(lasted, 10, 53)
		if err != nil || micros+more >= 1<<53 {
			return Record{}, fmt.Errorf("not a record of a term: %.100q", text)
		}
		r.Until = time.UnixMicro(int64(micros + more)).UTC()
	}
	return r, nil
}
