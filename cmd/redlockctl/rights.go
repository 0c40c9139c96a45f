package main

import (
	"context"
	_ "embed" // the script
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/plain"
)

//go:embed rights.lua
var rightsScript string

// need is a group of commands that a user needs for a purpose.
type need struct {
	purpose  string
	commands []string // with all their arguments: some servers do not check that there are enough. * is the hash of the prefix
}

// needs are the rights of docs/operations.md, each once. Everybody needs the first group. Viewers and services with jobs need the
// second, services the third. Only services with jobs need the fourth, and only those that record terms all of the last.
var needs = []need{
	{"to read", []string{
		"client setname x", "evalsha x 0", "eval x 0", "script load x", "info", "time", "hget * x", "hmget * x",
	}},
	{"to read jobs", []string{"hlen *:jobs:x", "lrange *:runs:x:x 0 0", "zrangebylex *:names:x - +"}},
	{"for locks", []string{
		"hset * x x", "hdel * x", "hscan * 0", "publish *:n:x x", "pubsub numsub *:n:x", "subscribe *:n:x", "unsubscribe *:n:x",
	}},
	{"for jobs", []string{
		"lpush *:runs:x:x x", "ltrim *:runs:x:x 0 0", "zadd *:names:x 0 x", "zrem *:names:x x", "hgetall *:requests:x",
		"del *:runs:x:x",
	}},
	{"for terms", []string{"pexpire *:terms:x 1", "zremrangebyrank *:terms:x 0 0", "zrevrange *:terms:x 0 0"}},
}

// rightOf returns the right to run a command, as in +script|load.
func rightOf(command string) string {
	words := strings.Fields(command)
	if slices.Contains([]string{"client", "script", "pubsub"}, words[0]) {
		return "+" + words[0] + "|" + words[1]
	}
	return "+" + words[0]
}

// lacking returns the rights that the user of a node lacks in each group of needs. It returns nil if the server cannot
// tell.
func (p *program) lacking(ctx context.Context, node *redis.Client) ([][]string, error) {
	var args []any
	for _, n := range needs {
		for _, command := range n.commands {
			args = append(args, strings.ReplaceAll(command, "*", p.hash()))
		}
	}
	numbers, err := node.Eval(ctx, rightsScript, nil, args...).Int64Slice()
	switch {
	case err != nil:
		return nil, plain.Error(err)
	case slices.Equal(numbers, []int64{0}):
		return nil, nil
	}
	groups, number := make([][]string, len(needs)), int64(0)
	for i, n := range needs {
		for _, command := range n.commands {
			if number++; slices.Contains(numbers, number) {
				groups[i] = append(groups[i], rightOf(command))
			}
		}
	}
	return groups, nil
}

// judgeRights judges the rights of the user of one node.
func (d *diagnosis) judgeRights(addr string, lacking [][]string, err error) {
	switch {
	case err != nil:
		d.problem("rights", "%s: %s", addr, oneLine(err))
		return
	case lacking == nil:
		d.note("rights", "%s: not checked, since servers before 7.0 cannot tell", addr)
		return
	}
	found := false
	for i, n := range needs {
		rights := strings.Join(lacking[i], " ")
		switch some := len(lacking[i]) < len(n.commands); {
		case rights == "":
			continue
		case i == 0, some && (i == 1 || !isPerson(lacking)): // people need only parts of the others
			d.problem("rights", "%s: the user lacks %s %s, or the patterns of their keys (~) and channels (&)", addr, rights, n.purpose)
		default:
			d.note("rights", "%s: the user lacks %s %s: fine for a viewer, an operator, or a service that does without", addr, rights, n.purpose)
		}
		found = true
	}
	if !found {
		d.well("rights", "%s: the user has all rights of a service", addr)
	}
}

// isPerson reports whether a user is a viewer or an operator, who can neither find nor remove old locks.
func isPerson(lacking [][]string) bool {
	return slices.Contains(lacking[2], "+hdel") && slices.Contains(lacking[2], "+hscan")
}
