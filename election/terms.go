package election

import (
	"cmp"
	"context"
	_ "embed" // the scripts
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

// TermRecord is what the nodes keep of a term, for people. Whoever can write to a node can change it: do not decide anything
// by it, and escape Replica before you print it.
type TermRecord struct {
	Token   uint64
	Replica string    // the identity of its leader, as given by WithIdentity
	Since   time.Time // when it began, by the nodes' clock

	// Until is the last instant at which it is known to have lasted, by the nodes' clock: its end if Ended is set. Otherwise the
	// leader has not recorded the end: it leads, or was killed or cut off, at most [TermRecordedEvery] after Until if its
	// nodes answered. Zero: nothing but the start is recorded.
	Until time.Time
	Ended bool
}

// TermRecordedEvery is how often a leader records that its term lasts.
const TermRecordedEvery = 30 * time.Second

// Terms returns the newest terms of this election, 100 at most, newest first, as a quorum of nodes knows them. This process
// need not lead or campaign. A term is missing if the nodes could not record it while it lasted; one that has just begun may
// be. [redlock.ErrNoQuorum]: too few nodes answered.
func (e *Elector) Terms(ctx context.Context) ([]TermRecord, error) {
	op := fmt.Sprintf("election: terms of %q", e.name)
	call := termsScript.Command(1, nil, e.termsKey()).Call(nil)
	answers, err := ask(ctx, e.locker.Quorum(), op, call, quorum.SameRows[TermRecord])
	if err != nil {
		return nil, err
	}
	now, known := e.locker.Time()
	quorum.DropRows(answers, func(r TermRecord) bool { // else those of a far future would be the newest forever
		return known && (!e.locker.Believes(r.Token) || r.Since.After(now.Add(time.Minute)))
	})
	enough := e.locker.Quorum().Enough(len(answers))
	ends := splitEnds(answers)
	all := quorum.NewestRows(answers, enough, maxTerms, byToken)
	all = slices.CompactFunc(all, func(a, b TermRecord) bool { return a.Token == b.Token })
	for i := range all {
		all[i] = latestOf(ends[all[i]], enough)
	}
	return all, nil
}

// splitEnds takes out of the rows how long each term has lasted, in which nodes differ when one of them missed the last record
// of it. It returns the rows as they were, by the start of the term.
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

// latestOf returns the record of a term that lasted longest, of those that enough nodes confirm, each by one as long or longer.
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

// byToken puts the newest term first.
func byToken(a, b TermRecord) int { return cmp.Compare(b.Token, a.Token) }

// recordBackoff spaces the attempts to record a term.
var recordBackoff = retry.Backoff{Min: 100 * time.Millisecond, Max: time.Minute}

// endWait is for how long the end of a term waits for the nodes to record it: long enough to send it.
const endWait = 5 * time.Millisecond

// recordTerm has the nodes record a term: its start, that it lasts, and its end. It returns when the term is over, endWait later at
// most. Nothing depends on the record, so no failure is an error. It calls no hook and no logger, which could hold up the end
// of the term.
func (e *Elector) recordTerm(t *Term) {
	record, ok := e.recordStart(t)
	if !ok {
		return
	}
	for retry.Sleep(t.Context(), TermRecordedEvery) == nil {
		record.Until = record.Since.Add(time.Since(t.since))
		_, _ = ask(t.Context(), e.locker.Quorum(), "record a term", e.newRecord(record), nil)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), endWait)
	defer cancel()
	// The process may have been paused past the end.
	record.Until = record.Since.Add(min(time.Since(t.since), t.Deadline().Sub(t.since)))
	record.Ended = true
	_, _ = ask(ctx, e.locker.Quorum(), "record a term", e.newRecord(record), nil)
}

// recordStart returns the record when a quorum of nodes has it; false: the term is over before.
func (e *Elector) recordStart(t *Term) (record TermRecord, ok bool) {
	ctx, began := t.Context(), t.clock.Now()
	var call quorum.Call[struct{}]
	known := false // when it began by the nodes' clock: all attempts write the same
	for failures := 1; ; failures++ {
		if now, ok := e.locker.Time(); ok && !known {
			known = true
			record = TermRecord{Token: t.Token(), Replica: e.config.id, Since: now.Add(-t.clock.Now().Sub(began))}
			call = e.newRecord(record)
		}
		if known {
			if _, err := ask(ctx, e.locker.Quorum(), "record a term", call, nil); err == nil {
				return record, true
			}
		}
		if retry.Sleep(ctx, recordBackoff.After(failures)) != nil {
			return record, false
		}
	}
}

// ask returns the values of the nodes that answered, which are a majority: of all that come, if these are not alike. If ctx ends
// first it returns at once: the nodes' calls end by themselves, by the node timeout.
func ask[T any](ctx context.Context, q *quorum.Quorum, op string, call quorum.Call[T], alike func(a, b *T) bool) (values []T, err error) {
	round, cause := quorum.Ask(ctx, q, call, func(answers []quorum.Answer[T]) bool {
		good, open := 0, 0
		for _, a := range answers {
			switch {
			case !a.Over:
				open++
			case a.Err == nil:
				good++
			}
		}
		return q.Decided(good, open) && quorum.AreAlike(answers, alike)
	})
	var failed []quorum.NodeError
	for i, a := range round.Answers() {
		if a.Err != nil {
			failed = append(failed, quorum.NodeError{Addr: q.Addr(i), Err: a.Err})
			continue
		}
		values = append(values, a.Value)
	}
	if len(values) >= q.Majority() {
		return values, nil
	}
	err = &quorum.Shortfall{
		Op: op, Kind: redlock.ErrNoQuorum, Size: q.Size(), Need: q.Majority(), Got: len(values), Nodes: failed,
	}
	if cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return nil, err
}

const maxTerms = 100 // that a node keeps: the scripts have this number too

var (
	//go:embed record.lua
	recordSource string
	//go:embed terms.lua
	termsSource string

	recordScript = quorum.NewScript("record", recordSource, func(*quorum.Reply) (none struct{}, err error) {
		return none, nil
	}).Optional() // the rights for it may be missing
	termsScript = quorum.NewScript("terms", termsSource, readTerms).Optional()
)

func (e *Elector) termsKey() string { return name.Key(e.locker.Settings().KeyPrefix, "terms", e.name) }

// newRecord is a call that records a term, in place of an earlier record of it.
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

// readTerms reads what a node keeps, which may be anything.
func readTerms(r *quorum.Reply) (records []TermRecord, err error) {
	n := len(r.Rest())
	if n > maxTerms {
		return nil, fmt.Errorf("it has %d terms, it may keep %d", n, maxTerms)
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
			continue // one record of a term, and so one vote, a node
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
	number, err1 := strconv.ParseUint(token, 10, 53) // as those of locks
	micros, err2 := strconv.ParseUint(since, 10, 53)
	if err1 != nil || err2 != nil || number == 0 || replica == "" || len(replica) > name.MaxLen {
		return TermRecord{}, fmt.Errorf("this is no record of a term: %.100q", text)
	}
	r := TermRecord{Token: number, Replica: replica, Since: time.UnixMicro(int64(micros)).UTC(), Ended: ended}
	if lasts {
		more, err := strconv.ParseUint(lasted, 10, 53)
		if err != nil || micros+more >= 1<<53 {
			return TermRecord{}, fmt.Errorf("this is no record of a term: %.100q", text)
		}
		r.Until = time.UnixMicro(int64(micros + more)).UTC()
	}
	return r, nil
}
