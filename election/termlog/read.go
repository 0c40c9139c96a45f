package termlog

import (
	"cmp"
	"context"
	_ "embed" // for the script
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/name"
	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/redlock"
)

// Read returns the newest terms of an election, at most 100, newest first, as the nodes say that answer first, at least a majority. This
// process need not campaign, and may have no Elector. A term is missing if its leader has no [Hooks], or if the nodes could not record it
// while it lasted. One that has just begun may be missing. A single node with wrong data can show wrong terms; nothing is decided by
// them. The error is [redlock.ErrNoQuorum] if too few nodes answered, or says what is wrong with the name.
func Read(ctx context.Context, locker *redlock.Locker, election string) ([]Record, error) {
	if err := name.Check("name", election); err != nil {
		return nil, fmt.Errorf("termlog: %w", err)
	}
	op, parts := fmt.Sprintf("termlog: terms of %q", election), inside.Of(locker)
	call := termsScript.Command(1, nil, key(locker, election)).Call(nil)
	answers, err := ask(ctx, parts.Quorum, op, call)
	if err != nil {
		return nil, err
	}
	now, known := locker.Time()
	terms := make(map[uint64]Record) // by token
	for _, rows := range answers {
		for _, r := range rows {
			isAhead := known && (!parts.Believes(r.Token) || r.Since.After(now.Add(time.Minute)))
			if isAhead && havers(answers, r.Token) < parts.Quorum.Majority() { // a majority has some if its clocks were set back
				continue // otherwise records of the far future would be the newest forever
			}
			if have, is := terms[r.Token]; !is || r.isLater(have) {
				terms[r.Token] = r
			}
		}
	}
	all := slices.SortedFunc(maps.Values(terms), func(a, b Record) int { return cmp.Compare(b.Token, a.Token) })
	return all[:min(len(all), maxTerms)], nil
}

// havers returns how many nodes have a record of a term.
func havers(answers [][]Record, token uint64) (n int) {
	for _, rows := range answers {
		if slices.ContainsFunc(rows, func(r Record) bool { return r.Token == token }) {
			n++
		}
	}
	return n
}

// isLater reports whether a record was made later than another of the same term. A node may have missed the last one.
func (r Record) isLater(than Record) bool {
	return r.Until.After(than.Until) || r.Until.Equal(than.Until) && r.Ended && !than.Ended
}

// ask returns the values of a majority of nodes. If ctx ends first, it returns at once without a result; the calls to the nodes end by
// the node timeout.
func ask[T any](ctx context.Context, q *quorum.Quorum, op string, call quorum.Call[T]) (values []T, err error) {
	round, cause := quorum.Ask(ctx, q, call, func(answers []quorum.Answer[T]) bool {
		return quorum.IsDecided(q, answers, quorum.Succeeded)
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
			continue // the node was changed by somebody else
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
