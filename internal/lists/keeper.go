package lists

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed" // the script
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/guard"
	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/retry"
	"github.com/redlockfx/redlockfx/internal/signal"
)

// again is how long a process waits before it tries again to join or mend its list.
const again = time.Second

//go:embed list.lua
var source string

// Name is the name of Script.
const Name = "list"

// Script is list.lua.
var Script = quorum.NewScript(Name, guard.Include(source), readServer)

// Config has the settings of a Keeper.
type Config struct {
	Quorum  *quorum.Quorum
	Hash    string        // key of the prefix
	Longest time.Duration // lease
	Unseen  bool          // accept servers that hide their identity
	// Use is called, on the goroutine of Run, when the process uses another list. The empty List stands for none.
	Use func(List)
	// Problem is called after each round with why the server of an address cannot be used with the list; nil if it can, or does not
	// answer.
	Problem func(node int, err error)
}

// Keeper finds the list of one process, and mends it. Its methods are safe for concurrent use.
type Keeper struct {
	config Config
	where  string // see whereOf
	wake   signal.Signal
	used   List // belongs to Run

	mu       sync.Mutex // guards the fields below
	joins    bool       // may do more than adopt a list
	first    bool       // no round has ended
	problems []error
	ended    chan struct{} // closed at the end of the next round

	over chan struct{} // closed at the end of Run
}

// New returns a Keeper that does nothing before Run.
func New(c Config) *Keeper {
	addrs := make([]string, c.Quorum.Size())
	for i := range addrs {
		addrs[i] = c.Quorum.Addr(i)
	}
	return &Keeper{
		config: c, where: whereOf(addrs), wake: signal.New(), first: true, ended: make(chan struct{}), over: make(chan struct{}),
	}
}

// Run finds the list as soon as somebody awaits it. Then it sleeps until Wake, also while something is wrong: who needs a list awaits it,
// and a node that refuses a request because of its list wakes it. It returns when ctx is done.
func (k *Keeper) Run(ctx context.Context) {
	defer close(k.over)
	pace := retry.Pace{Burst: 3, Every: again}
	for {
		select {
		case <-k.wake:
		case <-ctx.Done():
			return
		}
		if retry.Sleep(ctx, pace.Next(time.Now())) != nil {
			return
		}
		k.round(ctx)
	}
}

// Wake has Run look at the servers again.
func (k *Keeper) Wake() { k.wake.Set() }

// Await waits for the end of the next round, after Config.Use was called if the list has changed. It returns why each address cannot be
// used, as of the last round that has ended, or of the first one. A process that only reads does not join.
func (k *Keeper) Await(ctx context.Context, joins bool) []error {
	k.mu.Lock()
	ended := k.ended
	k.joins = k.joins || joins
	k.mu.Unlock()
	k.Wake()
	select {
	case <-ended:
	case <-k.over:
	case <-ctx.Done():
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.problems
}

// round asks all servers what they remember, and then does what is planned until nothing can be done.
func (k *Keeper) round(ctx context.Context) {
	used := k.used
	heard := k.look(ctx) // all of them: one that is new, or in another list, matters
	var p Plan
	for range 10 * len(heard) { // more than any change takes
		if p = next(k.where, used, heard); p.Use != used {
			used = p.Use
			continue
		}
		k.use(used)
		k.mu.Lock()
		joins := k.joins
		k.mu.Unlock()
		if p.Verb == "" || !joins || ctx.Err() != nil {
			break
		}
		k.send(ctx, p, heard)
	}
	k.use(p.Use)
	for i, err := range p.Problems {
		_, twin := errors.AsType[*TwinError](err)
		if heard[i].Err != nil || twin {
			err = nil // others report it
		}
		k.config.Problem(i, err)
	}
	k.end(p.Problems)
}

// use has the process use a list from now on.
func (k *Keeper) use(l List) {
	if l != k.used {
		k.config.Use(l)
		k.used = l
	}
}

// end tells those who wait that a round has ended, or that there is a list.
func (k *Keeper) end(problems []error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.problems, k.first = problems, false
	close(k.ended)
	k.ended = make(chan struct{})
}

// note notes what is known while the first round is under way.
func (k *Keeper) note(answers []quorum.Answer[reply]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.first {
		k.problems = make([]error, len(answers))
		for i, a := range answers {
			k.problems[i] = cmp.Or(a.Err, error(errAll))
		}
	}
}

// look returns what each address answers. It changes nothing.
func (k *Keeper) look(ctx context.Context) []Heard {
	round, _ := quorum.Ask(ctx, k.config.Quorum, k.call("look"), func(answers []quorum.Answer[reply]) bool {
		k.note(answers)
		return quorum.AllOver(answers)
	})
	heard := make([]Heard, k.config.Quorum.Size())
	for i, a := range round.Answers() {
		heard[i] = Heard{a.Err, a.Value.Server}
	}
	return heard
}

// send asks the planned nodes, and replaces what was heard of them.
func (k *Keeper) send(ctx context.Context, p Plan, heard []Heard) {
	rounds := make([]*quorum.Round[reply], len(p.Nodes))
	for n, i := range p.Nodes {
		args := []any{string(p.List)}
		switch p.Verb {
		case enter:
			args = []any{newID(), string(heard[i].Joined)}
		case take, join, force:
			args = append(args, p.Owes)
		case swap:
			args = []any{string(p.From), string(p.List)}
		}
		rounds[n] = quorum.Prepare(k.config.Quorum, i, k.call(p.Verb, args...))
		rounds[n].Send()
	}
	for n, i := range p.Nodes {
		err := rounds[n].Wait(ctx)
		a := rounds[n].Answer(0)
		heard[i] = Heard{errors.Join(a.Err, err), a.Value.Server}
		if heard[i].Err == nil && !a.Value.done {
			heard[i].Err = errRefused
		}
	}
}

// errRefused says that somebody else was faster. The next round sees what it did.
const errRefused = Problem("its list has just changed")

// Force has all servers that answer serve one list, whatever they remember. A server that does not answer can be replaced afterwards by
// one that is fresh. If one does not answer, what only that one knows of jobs is given up. It returns why an address is not in the list.
func (k *Keeper) Force(ctx context.Context) []error {
	heard := k.look(ctx)
	problems := make([]error, len(heard))
	p := Plan{Verb: enter}
	turn := 0
	for i := range heard {
		if problems[i] = heard[i].Err; problems[i] == nil && heard[i].ID == "" {
			p.Nodes = append(p.Nodes, i)
		}
		turn = max(turn, heard[i].turn())
	}
	k.send(ctx, p, heard)
	p = Plan{Verb: force}
	var ids []string
	for i := range heard {
		if problems[i] = heard[i].Err; problems[i] != nil {
			ids = append(ids, newID()) // of a server that does not exist
			continue
		}
		p.Nodes, ids = append(p.Nodes, i), append(ids, heard[i].ID)
	}
	p.List = newList(turn+1, k.where, ids)
	if len(p.Nodes) == len(heard) { // else no leader can ever hear all, and what the others know is given up
		p.Owes = owes("", heard, p.Nodes, -1)
	}
	if len(p.Nodes) < majority(len(heard)) {
		return problems
	}
	k.send(ctx, p, heard)
	for _, i := range p.Nodes {
		problems[i] = heard[i].Err
	}
	k.Wake()
	return problems
}

func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func (k *Keeper) call(v verb, args ...any) quorum.Call[reply] {
	unseen := ""
	if k.config.Unseen {
		unseen = "b"
	}
	all := append(arguments{k.config.Longest.Milliseconds(), unseen, string(v)}, args...)
	return Script.Command(1, all, k.config.Hash).Call(nil)
}

type arguments []any

func (a arguments) AppendArgs(_ int, args []any) []any { return append(args, a...) }

// reply is what a server remembers after a call, and whether it has done it.
type reply struct {
	Server
	done bool
}

func readServer(r *quorum.Reply) (s reply, err error) {
	code, _, _, err := r.Item()
	switch {
	case err != nil:
		return s, err
	case code == 'b':
		return s, guard.ErrNoIdentity
	case code == 'e':
		text, err := r.Text()
		return s, errors.Join(err, errors.New(text))
	}
	s.done = code == 'y'
	_, inUse, longest, err1 := r.Item()
	text, err2 := r.Text()
	owes, err3 := r.Text()
	if err := errors.Join(err1, err2, err3); err != nil {
		return s, err
	}
	s.Server, err = Parse(text)
	s.InUse, s.Longest = milliseconds(inUse), milliseconds(longest)
	s.Owes = strings.FieldsFunc(owes, func(r rune) bool { return r == '\n' })
	s.Owes = slices.DeleteFunc(s.Owes, func(line string) bool { return strings.HasPrefix(line, "new") }) // about the server alone
	return s, err
}

// Parse reads the field s: ID JOINED TAKEN...
func Parse(text string) (s Server, err error) {
	words := strings.Fields(text)
	if len(words) < 2 {
		return s, fmt.Errorf("this version did not write what the node says of its list: %.100q", text)
	}
	if words[0] != "-" {
		s.ID = words[0]
	}
	if s.Joined, err = parseList(words[1]); err != nil {
		return s, err
	}
	for _, word := range words[2:] {
		l, err := parseList(word)
		if err != nil {
			return s, err
		}
		s.Taken = append(s.Taken, l)
	}
	return s, nil
}

// milliseconds returns n ms, or a day if n is what no server of this version says.
func milliseconds(n int64) time.Duration {
	if n < 0 || n > 1<<40 {
		n = 86_400_000
	}
	return time.Duration(n) * time.Millisecond
}
