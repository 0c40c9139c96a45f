package register

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// MaxClaims is how many claims a node is asked in one call; more take several.
const MaxClaims = 500

// Claim asks for one slot.
type Claim struct {
	Job    string
	Record Record  // without an end
	Pause  Setting // that the leader knows of: a node with an older one takes it over
	Missed int     // ticks of the job in all, those that this one jumps over included
}

// Outcome is what became of a claim.
type Outcome struct {
	Won     bool
	Taken   bool      // no run of ours can win the slot any more
	Past    time.Time // nothing up to here can be won of its lane unless nodes answer that have not; zero: that is not why
	By      Record    // that it is taken by, where a node has a record of it
	Fenced  uint64    // a larger token that was promised; 0: none
	Paused  Setting   // newer than the claim's, and on
	Unknown bool      // a node does not know the job: it has to be promised anew
	Forgot  bool      // a node knows none of the jobs any more
	Err     error     // why it was not won
}

// Claim asks for slots, and returns what became of each, in their order. What was not won and is not taken may
// be asked for again, with the same run. memories are what the nodes promised the token in, for all of the jobs:
// a node that has forgotten since, and was admitted by somebody else, has not promised. No node is asked more than
// one call at a time.
func (r *Register) Claim(ctx context.Context, token uint64, memories map[int]string, claims []Claim) []Outcome {
	all := make([]Outcome, len(claims))
	groups := make(map[int][]int) // by the node that is asked first
	for i, c := range claims {
		first := r.first(c.Record.Slot)
		groups[first] = append(groups[first], i)
	}
	for first, group := range groups {
		for batch := range slices.Chunk(group, MaxClaims) {
			r.claim(ctx, token, memories, first, claims, batch, all)
		}
	}
	return all
}

// first is the node that everybody asks first for this slot, but for those that are known to be slow. It is the
// same for all jobs of an instant: they share a call.
func (r *Register) first(s Slot) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s.field())) // it cannot fail
	n := r.config.Quorum.Size()
	start := int(h.Sum32() % uint32(n))
	for i := range n {
		if node := (start + i) % n; !r.config.Quorum.Slow(node) {
			return node
		}
	}
	return start
}

func (r *Register) claim(
	ctx context.Context, token uint64, memories map[int]string, first int, claims []Claim, batch []int, all []Outcome,
) {
	keys := make([]string, 0, 1+2*len(batch))
	keys = append(keys, r.hash())
	args := r.args(token)
	for _, i := range batch {
		c := claims[i]
		keys = append(keys, r.key("job", c.Job), r.key("runs", c.Job))
		args = append(args, c.Record.Slot.lane(), c.Record.Slot.number(), c.Record.Run, c.Record.Attempt,
			c.Record.encode(), c.Pause.encode(), c.Missed)
	}
	n := len(batch)
	voted := func(codes ...int64) func([]answer) bool {
		return r.settled(n, func(a answer, i int) bool {
			f, err := part(a, i, n)
			return err == nil && slices.ContainsFunc(codes, func(c int64) bool { return f[0] == c })
		})
	}
	won, known := voted(codeYes), voted(codeYes, codeNo, codeFenced)
	// A claim that cannot be won waits for a quorum that says so: one answer and a node that is down do not tell
	// whether the slot is past.
	judge := func(answers []answer) bool { return won(answers) && known(answers) }
	// A slot that is taken by this term or a later one is decided; by an earlier one it may be a dead run's.
	goOn := func(a answer) bool {
		for i := range n {
			f, err := part(a, i, n)
			if err != nil || f[0] == int64(codeYes) || f[0] == int64(codeUnknown) || f[0] == int64(codeAhead) {
				return true
			}
			if f[0] == int64(codeNo) && takenBy(f) < token {
				return true
			}
		}
		return false
	}
	call := newCallWith(claimScript, func(node int) any { return memories[node] }, keys, args...)
	round, cause := quorum.AskHedged(ctx, r.config.Quorum, call, judge, []int{first}, goOn)
	answers := round.Answers()
	for i, at := range batch {
		all[at] = r.outcome(claims[at], token, memories, answers, i, n, cause)
	}
}

// takenBy is the token of the claim that a refusal names; 0 if the node was admitted since.
func takenBy(f []any) uint64 {
	if len(f) < 4 {
		return 0
	}
	token, _ := f[2].(int64)
	return uint64(token)
}

// outcome reads what the nodes answered to the i-th of n claims.
func (r *Register) outcome(
	c Claim, token uint64, memories map[int]string, answers []answer, i, n int, cause error,
) Outcome {
	var o Outcome
	need := r.config.Quorum.Majority()
	yes := 0
	var past []int64 // the marks of those that said no
	var nodes []quorum.NodeError
	for node, a := range answers {
		f, err := part(a, i, n)
		if err == nil {
			err = o.read(c, token, memories[node], f)
		}
		if err == nil {
			yes++
			continue
		}
		nodes = append(nodes, quorum.NodeError{Addr: r.config.Quorum.Addr(node), Err: err})
		if len(f) > 1 && f[0] == int64(codeNo) {
			mark, _ := f[1].(int64)
			past = append(past, max(mark, c.Record.Slot.number()))
		}
	}
	o.Won = yes >= need
	if o.Won {
		return o
	}
	o.Taken = o.Taken || r.config.Quorum.Size()-len(past) < need
	if yes+len(past) >= need {
		slices.Sort(past)
		o.Past = c.Record.Slot.at(past[need-yes-1])
	}
	kind := ErrNoQuorum
	if o.Fenced > 0 {
		kind = ErrFenced
	}
	o.Err = r.short(fmt.Sprintf("claim %q at %v", c.Job, c.Record.Slot.At), yes, nodes, kind, cause)
	return o
}

// read notes the answer of one node that promised in memory ("": it did not); the error is why it is no vote.
func (o *Outcome) read(c Claim, token uint64, memory string, f []any) error {
	if err := refusal(f); err != nil {
		return err
	}
	switch code, _ := f[0].(int64); {
	case code == codeYes:
		return nil
	case code == codeNo && len(f) == 4:
		mark, _ := f[1].(int64)
		by := takenBy(f)
		o.Taken = o.Taken || by >= token
		if text, _ := f[3].(string); text != "" {
			record, err := parseRecord(c.Record.Slot.field(), text)
			if err != nil {
				return err
			}
			o.Taken = o.Taken || record.State == OK || record.State == Failed // it was run, so a quorum had voted for it
			if o.By.Run == "" || better(record, o.By) {
				o.By = record
			}
			return fmt.Errorf("taken by run %s of token %d, %s", record.Run, record.Token, record.State)
		}
		return fmt.Errorf("its mark is %d, of token %d", mark, by)
	case code == codeUnknown && len(f) == 4:
		o.Unknown = true
		o.Forgot = o.Forgot || memory != "" && f[2] != memory
		return ErrUnknown
	case code == codeFenced && len(f) == 2:
		larger, _ := f[1].(int64)
		o.Fenced = max(o.Fenced, uint64(larger))
		return fmt.Errorf("%w: %d", ErrFenced, larger)
	case code == codePaused && len(f) == 2:
		text, _ := f[1].(string)
		o.Paused = parseSetting(text)
		return fmt.Errorf("paused since %v", o.Paused.At())
	case code == codeAhead:
		return fmt.Errorf("its clock is more than 2 s behind the tick")
	}
	return fmt.Errorf("unexpected answer %.100q", fmt.Sprint(f))
}
