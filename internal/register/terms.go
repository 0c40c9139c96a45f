package register

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Term is that a replica has begun to lead.
type Term struct {
	Token uint64
	By    string    // the replica
	Since time.Time // by the nodes' clock, to the microsecond
}

// NoteTerm has a quorum remember a term, of which the nodes keep the newest hundred. Nothing rests on it.
// [ErrNoQuorum].
func (r *Register) NoteTerm(ctx context.Context, t Term) error {
	call := newCall(noteScript, []string{r.hash(), r.termsKey()},
		r.args(t.Token, fmt.Sprintf("%d:%s", micro(t.Since), t.By))...)
	op := func(int) string { return fmt.Sprintf("note term %d", t.Token) }
	return r.write(ctx, 1, op, call, func([]any) error { return nil })[0]
}

// Terms asks a quorum which terms there have been, the newest first: each that any of them remembers.
// [ErrNoQuorum].
func (r *Register) Terms(ctx context.Context) ([]Term, error) {
	found := make(map[uint64]Term)
	call := newCall(termsScript, []string{r.hash(), r.termsKey()}, r.reading()...)
	err := r.ask(ctx, "terms", call, func(_ int, _ int64, f []any) error {
		if len(f) != 2 || f[0] != int64(codeYes) {
			return fmt.Errorf("unexpected answer %.100q", fmt.Sprint(f))
		}
		for token, text := range table(f[1]) {
			since, by, _ := strings.Cut(text, ":")
			n, err := strconv.ParseUint(token, 10, 64)
			if err != nil {
				return fmt.Errorf("unexpected term %.100q", token)
			}
			found[n] = Term{Token: n, By: by, Since: timeOf(number(since))}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Term) int { return cmp.Compare(b.Token, a.Token) }), nil
}
