package redlock

import (
	_ "embed" // the scripts
	"fmt"
	"strings"

	"github.com/redlockfx/redlockfx/internal/guard"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

var (
	//go:embed acquire.lua
	acquireSource string
	//go:embed extend.lua
	extendSource string
	//go:embed repair.lua
	repairSource string
	//go:embed release.lua
	releaseSource string
	//go:embed raise.lua
	raiseSource string
	//go:embed holder.lua
	holderSource string
	//go:embed inspect.lua
	inspectSource string
	//go:embed sweep.lua
	sweepSource string
	//go:embed overwrite.lua
	overwriteSource string
	//go:embed answer.lua
	answerSource string
	//go:embed line.lua
	lineSource string
)

// include replaces the include comments of a script with the shared parts.
func include(script string) string {
	return guard.Include(strings.NewReplacer(
		"-- include overwrite", overwriteSource, "-- include answer", answerSource, "-- include line", lineSource,
	).Replace(script))
}

var (
	acquireScript = quorum.NewScript("acquire", include(acquireSource), readReply)
	extendScript  = quorum.NewScript("extend", include(extendSource), readExtension)
	repairScript  = quorum.NewScript("repair", include(repairSource), readReply)
	releaseScript = quorum.NewScript("release", include(releaseSource), readReply)
	raiseScript   = quorum.NewScript("raise", include(raiseSource), readReply)
	holderScript  = quorum.NewScript("holder", include(holderSource), readReply)
	inspectScript = quorum.NewScript("inspect", inspectSource, readInspection)
	sweepScript   = quorum.NewScript("sweep", include(sweepSource), readSwept)

	scripts = []*quorum.Source{
		acquireScript.Source, extendScript.Source, repairScript.Source, releaseScript.Source, raiseScript.Source,
		holderScript.Source, inspectScript.Source, sweepScript.Source,
	}
)

const (
	// maxTogether is how many locks one call of a script handles. That many block the node for half a millisecond.
	maxTogether = 250
	// maxRenewed is the limit for extensions, which are cheaper.
	maxRenewed = 500
)

// commands are the scripts, bound to the keys of one Locker.
type commands struct {
	acquire, repair, release, raise, holder *quorum.Command[reply]
	extend                                  *quorum.Command[extension]
	inspect                                 *quorum.Command[inspection]
	sweep                                   *quorum.Command[swept]
}

// newCommands makes the commands, and sets how the Locker observes their answers.
func newCommands(l *Locker) commands {
	granting := newGrantHead(l)
	publish := ""
	if l.channels {
		publish = "p"
	}
	return commands{
		acquire: acquireScript.Command(maxTogether, granting, l.hash).Seen(func(node int, a answer) {
			if a.Err == nil && a.Value.yes {
				l.janitors[node].granted()
			}
			l.seeGrant(node, a)
		}),
		repair:  repairScript.Command(maxTogether, granting, l.hash).Seen(l.seeGrant),
		release: releaseScript.Command(maxTogether, constants{publish}, l.hash).Seen(l.seeRelease),
		raise:   raiseScript.Command(1, nil, l.hash),
		holder:  holderScript.Command(maxTogether, nil, l.hash),
		extend:  extendScript.Command(1, constants{l.list}, l.hash),
		inspect: inspectScript.Command(1, constants{l.settings.longestLease()}, l.hash),
		sweep:   sweepScript.Command(1, nil, l.hash),
	}
}

// longestLease returns the longest lease, in milliseconds; 0 without a guard.
func (s *Settings) longestLease() int64 {
	if !s.RestartGuard {
		return 0
	}
	return s.MaxTTL.Milliseconds()
}

// listOf returns the longest lease and the number of nodes in the scripts' format; empty without a guard.
func listOf(s Settings, nodes int) string {
	if !s.RestartGuard {
		return ""
	}
	return fmt.Sprintf("%012d %03d", s.MaxTTL.Milliseconds(), nodes)
}

// constants are arguments that never change.
type constants []any

func (c constants) AppendArgs(_ int, args []any) []any { return append(args, c...) }
