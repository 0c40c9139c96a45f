package register

import (
	_ "embed" // the scripts
	"strings"

	"github.com/redlockfx/redlockfx/internal/guard"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

var (
	//go:embed memory.lua
	memorySource string
	//go:embed register.lua
	registerSource string
	//go:embed promise.lua
	promiseSource string
	//go:embed admit.lua
	admitSource string
	//go:embed claim.lua
	claimSource string
	//go:embed finish.lua
	finishSource string
	//go:embed read.lua
	readSource string
	//go:embed names.lua
	namesSource string
	//go:embed changes.lua
	changesSource string
	//go:embed set.lua
	setSource string
	//go:embed note.lua
	noteSource string
	//go:embed terms.lua
	termsSource string
)

var (
	promiseScript = newScript("promise", promiseSource)
	admitScript   = newScript("admit", admitSource)
	claimScript   = newScript("claim", claimSource)
	readScript    = newScript("read", readSource)
	namesScript   = newScript("names", namesSource)
	changesScript = newScript("changes", changesSource)
	setScript     = newScript("set", setSource)
	noteScript    = newScript("note", noteSource)
	termsScript   = newScript("terms", termsSource)
	finishScript  = quorum.NewScript("finish", registerSource+finishSource, readFields)
)

// newScript makes a script that looks at the guard first.
func newScript(name, source string) *quorum.Script[[]any] {
	begin := strings.Replace(memorySource, "-- include guard", guard.Source, 1)
	return quorum.NewScript(name, begin+registerSource+source, readFields)
}

// An answer is a list: the node's time, and fields.
type (
	answer = quorum.Answer[[]any]
	call   = quorum.Call[[]any]
)

func readFields(r *quorum.Reply) ([]any, error) { return r.Rest(), nil }

// newCall makes a call that travels alone: it deals with as many jobs as fit.
func newCall(s *quorum.Script[[]any], keys []string, args ...any) call {
	return s.Command(1, arguments{args, nil}, keys...).Call(nil)
}

// newCallWith is newCall with one more argument at the end, of each node's own.
func newCallWith(s *quorum.Script[[]any], last func(node int) any, keys []string, args ...any) call {
	return s.Command(1, arguments{args, last}, keys...).Call(nil)
}

type arguments struct {
	all  []any
	last func(node int) any
}

func (a arguments) AppendArgs(node int, args []any) []any {
	args = append(args, a.all...)
	if a.last != nil {
		args = append(args, a.last(node))
	}
	return args
}

// What an answer begins with.
const (
	codeNo      = 0
	codeYes     = 1
	codeList    = 3
	codeLayout  = 5
	codeUnknown = 6
	codeFenced  = 7
	codePaused  = 8
	codeAhead   = 9
	codeError   = 10
)
