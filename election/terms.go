package election

import (
	"cmp"
	"context"
	_ "embed" // for the scripts
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/name"
	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/retry"
	"github.com/redlockfx/redlockfx/redlock"
)

// TermRecord is the nodes' record of a term, for people. Anybody who can write to a node can change it. So base no decision on
// it, and escape Replica before you print it.
type TermRecord struct {
	Token   uint64
	Replica string    // the identity of its leader, as given by WithIdentity
	Since   time.Time // when the term began, by the nodes' clock

	// Until is the end of the term if Ended is set, by the nodes' clock. Otherwise it is the last instant at which the leader
	// recorded that the term lasts; zero if there is only the start. Such a leader still leads, or was killed or cut off. If its
	// nodes answered, that was at most [TermRecordedEvery] after Until.
	Until time.Time
	Ended bool
}

// TermRecordedEvery is how often a leader records that its term lasts.
const TermRecordedEvery = 30 * time.Second

// Terms returns the newest terms of this election, at most 100, newest first, as a quorum of nodes knows them. This process need
// not lead or campaign. A term is missing if the nodes could not record it while it lasted. One that has just begun may be
// missing. The error is [redlock.ErrNoQuorum] if too few nodes answered.
func (e *Elector) Terms(ctx context.Context) ([]TermRecord, error) {
	op := fmt.Sprintf("election: terms of %q", e.name)
	call := termsScript.Command(1, nil, e.termsKey()).Call(nil)
	answers, err := ask(ctx, e.parts.Quorum, op, call, quorum.SameRows[TermRecord])
	if err != nil {
		return nil, err
	}
	now, known := e.locker.Time()
	quorum.DropRows(answers, func(r TermRecord) bool { // otherwise records of the far future would be the newest forever
		return known && (!e.parts.Believes(r.Token) || r.Since.After(now.Add(time.Minute)))
	})
	enough := e.parts.Quorum.Enough(len(answers))
	ends := splitEnds(answers)
	all := quorum.NewestRows(answers, enough, maxTerms, byToken)
	all = slices.CompactFunc(all, func(a, b TermRecord) bool { return a.Token == b.Token })
	for i := range all {
		all[i] = latestOf(ends[all[i]], enough)
	}
	return all, nil
}

// splitEnds clears Until and Ended in the rows, because nodes differ in them if one of them missed the last record of a term. It
// returns the original rows, by the cleared row.
func splitEnds(answers [][]TermRecord) map[TermRecord][]TermRecord {
	ends := make(map[TermRecord][]TermRecord)
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
func latestOf(records []TermRecord, enough int) TermRecord {
	slices.SortFunc(records, func(a, b TermRecord) int {
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
func byToken(a, b TermRecord) int { return cmp.Compare(b.Token, a.Token) }

// recordBackoff spaces the attempts to record a term.
var recordBackoff = retry.Backoff{Min: 100 * time.Millisecond, Max: time.Minute}

// endWait bounds how long the end of a term waits until it is recorded. It is long enough to send the requests.
const endWait = 5 * time.Millisecond

// recordTerm records a term on the nodes: its start, that it lasts, and its end. It returns at most endWait after the term is over.
// Nothing depends on the record, so it ignores failures. It calls no hook and no logger, because these could hold up the end of the
// term.
func (e *Elector) recordTerm(t *Term) {
	record, ok := e.recordStart(t)
	if !ok {
		return
	}
	for retry.Sleep(t.Context(), TermRecordedEvery) == nil {
		record.Until = record.Since.Add(time.Since(t.since))
		_, _ = ask(t.Context(), e.parts.Quorum, "record a term", e.newRecord(record), nil)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), endWait)
	defer cancel()
	// The process may have been paused beyond the end of the term.
	record.Until = record.Since.Add(min(time.Since(t.since), t.Deadline().Sub(t.since)))
	record.Ended = true
	_, _ = ask(ctx, e.parts.Quorum, "record a term", e.newRecord(record), nil)
}

// recordStart records the start of a term, and returns the record when a quorum of nodes has it. It returns false if the term ends
// before that.
func (e *Elector) recordStart(t *Term) (record TermRecord, ok bool) {
	ctx, began := t.Context(), t.clock.Now()
	var call quorum.Call[struct{}]
	known := false // whether the start is known by the nodes' clock; all attempts write the same record
	for failures := 1; ; failures++ {
		if now, ok := e.locker.Time(); ok && !known {
			known = true
			record = TermRecord{Token: t.Token(), Replica: e.config.id, Since: now.Add(-t.clock.Now().Sub(began))}
			call = e.newRecord(record)
		}
		if known {
			if _, err := ask(ctx, e.parts.Quorum, "record a term", call, nil); err == nil {
				return record, true
			}
		}
		if retry.Sleep(ctx, recordBackoff.After(failures)) != nil {
			return record, false
		}
	}
}

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
	//go:embed record.lua
	recordSource string
	//go:embed terms.lua
	termsSource string

	recordScript = quorum.NewScript("record", recordSource, func(*quorum.Reply) (none struct{}, err error) {
		return none, nil
	}).Optional() // the Redis user may lack the permissions for it
	termsScript = quorum.NewScript("terms", termsSource, readTerms).Optional()
)

func (e *Elector) termsKey() string { return name.Key(e.locker.Settings().KeyPrefix, "terms", e.name) }

// newRecord returns a call that records a term and replaces an earlier record of it.
func (e *Elector) newRecord(r TermRecord) quorum.Call[struct{}] {
	lasted := ""
	if !r.Until.IsZero() {
		lasted = fmt.Sprintf("+%d", r.Until.Sub(r.Since).Microseconds())
	}
	if r.Ended {
		lasted += "."
	}
	text := fmt.Sprintf("%d %d%s %s", r.Token, r.Since.UnixMicro(), lasted, r.Replica)
	return recordScript.Command(1, arguments{strconv.FormatUint(r.Token, 10), text}, e.termsKey()).Call(nil)
}

type arguments []any

func (a arguments) AppendArgs(_ int, args []any) []any { return append(args, a...) }

// readTerms decodes the records of a node. It trusts nothing in them.
func readTerms(r *quorum.Reply) (records []TermRecord, err error) {
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
		if slices.ContainsFunc(records, func(r TermRecord) bool { return r.Token == record.Token }) {
			continue // a node has one vote on each term
		}
		records = append(records, record)
	}
	return records, nil
}

func decodeTerm(text string) (TermRecord, error) {
	token, rest, _ := strings.Cut(text, " ")
	times, replica, _ := strings.Cut(rest, " ")
	times, ended := strings.CutSuffix(times, ".")
	since, lasted, lasts := strings.Cut(times, "+")
	number, err1 := strconv.ParseUint(token, 10, 53) // all tokens are below 2^53
	micros, err2 := strconv.ParseUint(since, 10, 53)
	if err1 != nil || err2 != nil || number == 0 || replica == "" || len(replica) > name.MaxLen {
		return TermRecord{}, fmt.Errorf("not a record of a term: %.100q", text)
	}
	r := TermRecord{Token: number, Replica: replica, Since: time.UnixMicro(int64(micros)).UTC(), Ended: ended}
	if lasts {
		more, err := strconv.ParseUint(lasted, 10, 53)
		if err != nil || micros+more >= 1<<53 {
			return TermRecord{}, fmt.Errorf("not a record of a term: %.100q", text)
		}
		r.Until = time.UnixMicro(int64(micros + more)).UTC()
	}
	return r, nil
}
