package jobstore

import (
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/guard"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

//go:embed *.lua
var files embed.FS

var (
	prepareScript = newScript("prepare", "prepare", readPrepared)
	writeScript   = newScript("write", "write", readWritten)
	pageScript    = newScript("page", "page", readPage)
	runsScript    = newScript("runs", "runs", readRuns)
	pastScript    = newScript("past", "runs", readPast)
	pollScript    = newScript("poll", "poll", readPolled)
	askScript     = newScript("ask", "ask", readAsked)
	forgetScript  = newScript("forget", "forget", readForgotten)
)

// newScript returns a script that first checks which server it runs on, and whether the server may have lost its state.
func newScript[T any](name, file string, read func(*reply) T) *quorum.Script[T] {
	begin, err1 := files.ReadFile("begin.lua")
	source, err2 := files.ReadFile(file + ".lua")
	if err := errors.Join(err1, err2); err != nil {
		panic(err) // a name is wrong in this file
	}
	return quorum.NewScript(name, guard.Include(string(begin))+string(source), readerOf(read))
}

// arguments are the arguments of a call that is not merged with others. Such a call already has as many jobs as fit.
type arguments []any

func (a arguments) AppendArgs(_ int, args []any) []any { return append(args, a...) }

func newCall[T any](s *quorum.Script[T], keys []string, args []any) quorum.Call[T] {
	return s.Command(1, arguments(args), keys...).Call(nil)
}

// Header is what a node stores about all jobs.
type Header struct {
	Began    time.Time // start of its incarnation
	Promised Ballot    // the largest promised ballot
	Stage    Stage     // how far the leader is under that ballot
	Alive    time.Time // when the node last heard from its leader
	Leader   Leader
}

// Stage is how far a leader is.
type Stage string

// The stages, as the header has them.
const (
	Writing Stage = "0" // some of its jobs are not written under its ballot
	Settled Stage = "1" // all are
	Loading Stage = "2" // all are, but for those of sources that it has not loaded
)

// Leader identifies the leader to which a ballot was promised.
type Leader struct {
	Token   uint64
	Replica string
}

func (l Leader) encode() string { return strconv.FormatUint(l.Token, 10) + ":" + l.Replica }

const headerLen = 92 // length of the parts before the leader

// decodeHeader decodes the header of the hash of jobs. Without a text it returns the zero Header.
func decodeHeader(text string) (h Header, err error) {
	if text == "" {
		return h, nil
	}
	if len(text) < headerLen {
		return h, fmt.Errorf("the header of the jobs cannot be read: %.100q", text)
	}
	began, err1 := strconv.ParseInt(text[2:18], 10, 64)
	alive, err2 := strconv.ParseInt(text[73:89], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return h, fmt.Errorf("the header of the jobs cannot be read: %w", err)
	}
	h.Began, h.Alive = timeOf(began), timeOf(alive)
	if promised := text[32:58]; strings.Trim(promised, "0") != "" {
		h.Promised = Ballot(promised)
	}
	h.Stage = Stage(text[90:91])
	token, replica, _ := strings.Cut(text[headerLen:], ":")
	if token != "" {
		if h.Leader.Token, err = strconv.ParseUint(token, 10, 64); err != nil {
			return h, fmt.Errorf("the header of the jobs cannot be read: %w", err)
		}
	}
	h.Leader.Replica = replica
	return h, nil
}

// UnservedError says that a node does not serve the ballot, because its incarnation began too late for it. It is an [ErrStateLost]
// or an [ErrYoung].
type UnservedError struct {
	Node  int // set if the call went to several nodes
	Kind  error
	Began time.Time // start of the incarnation, by the node's clock
}

func (e *UnservedError) Error() string { return fmt.Sprintf("%v, at %v", e.Kind, e.Began) }

// Unwrap returns Kind.
func (e *UnservedError) Unwrap() error { return e.Kind }

// ServesFrom returns an instant of the node's clock: the node serves ballots that are taken after it. It is zero if the node's next
// incarnation begins only when it is asked to promise a ballot.
func (e *UnservedError) ServesFrom() time.Time {
	if errors.Is(e.Kind, ErrStateLost) {
		return time.Time{}
	}
	return e.Began.Add(Ahead)
}

// FencedError says that the node has promised a larger ballot, and to which leader. It is an [ErrFenced].
type FencedError struct {
	Node   int // as in UnservedError
	Header Header
}

func (e *FencedError) Error() string {
	return fmt.Sprintf("%v, by %q with term %d at %v", ErrFenced, e.Header.Leader.Replica, e.Header.Leader.Token,
		e.Header.Promised.Time())
}

// Unwrap returns ErrFenced.
func (*FencedError) Unwrap() error { return ErrFenced }
