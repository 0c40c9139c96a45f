package redlock

import (
	"embed"
	"fmt"
	"strings"

	"github.com/redlockfx/redlockfx/internal/guard"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

//go:embed *.lua
var files embed.FS

// source returns a script, with the shared parts in place of its include comments.
func source(name string) string {
	script := fileText(name)
	for _, part := range []string{"overwrite", "answer", "line"} {
		script = strings.ReplaceAll(script, "-- include "+part, fileText(part))
	}
	return guard.Include(script)
}

func fileText(name string) string {
	text, err := files.ReadFile(name + ".lua")
	if err != nil {
		panic(err) // the name is wrong in this file
	}
	return string(text)
}

func newScript[T any](name string, read func(*quorum.Reply) (T, error)) *quorum.Script[T] {
	return quorum.NewScript(name, source(name), read)
}

var (
	acquireScript = newScript("acquire", readReply)
	extendScript  = newScript("extend", readExtension)
	repairScript  = newScript("repair", readReply)
	releaseScript = newScript("release", readRelease)
	raiseScript   = newScript("raise", readReply)
	holderScript  = newScript("holder", readReply)
	inspectScript = newScript("inspect", readInspection)
	sweepScript   = newScript("sweep", readSwept)

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
		acquire: acquireScript.Command(maxTogether, granting, l.hash).Seen(l.seeGrant),
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

// constants are arguments that are the same for every node.
type constants []any

func (c constants) AppendArgs(_ int, args []any) []any { return append(args, c...) }
