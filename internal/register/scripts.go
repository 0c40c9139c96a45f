package register

import (
	_ "embed" // the scripts

	"github.com/redlockfx/redlockfx/internal/guard"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

var (
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
	promiseScript = quorum.NewScript("promise", guard.Source+registerSource+promiseSource)
	admitScript   = quorum.NewScript("admit", guard.Source+registerSource+admitSource)
	claimScript   = quorum.NewScript("claim", guard.Source+registerSource+claimSource)
	finishScript  = quorum.NewScript("finish", guard.Source+registerSource+finishSource)
	readScript    = quorum.NewScript("read", guard.Source+registerSource+readSource)
	namesScript   = quorum.NewScript("names", guard.Source+registerSource+namesSource)
	changesScript = quorum.NewScript("changes", guard.Source+registerSource+changesSource)
	setScript     = quorum.NewScript("set", guard.Source+registerSource+setSource)
	noteScript    = quorum.NewScript("note", guard.Source+registerSource+noteSource)
	termsScript   = quorum.NewScript("terms", guard.Source+registerSource+termsSource)
)

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
