package quorum

import (
	"crypto/sha1"
	"encoding/hex"
)

// Script is a Lua script that the nodes keep under its hash.
type Script struct {
	name   string // for people
	source string
	sha    any // a string, boxed once for all calls
}

// NewScript makes a Script of its source; the name is for people.
func NewScript(name, source string) *Script {
	sum := sha1.Sum([]byte(source))
	return &Script{name: name, source: source, sha: hex.EncodeToString(sum[:])}
}

// Name returns the script's name.
func (s *Script) Name() string { return s.name }

// Call is a script with its keys and arguments. All nodes share it, so nothing may change it.
type Call struct {
	script *Script
	args   []any              // as Redis wants them: evalsha, sha, number of keys, keys, arguments
	last   func(node int) any // one more argument, of each node's own
}

// Call prepares a call. All keys must lie in one slot, for nodes that are clusters.
func (s *Script) Call(keys []string, args ...any) Call {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, "evalsha", s.sha, len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	return Call{script: s, args: append(all, args...)}
}

// WithLast is the same call with one more argument at the end, which may differ from node to node.
// It is asked for when the call is about to be sent, on any goroutine, and for a late node when the round is over.
func (c Call) WithLast(arg func(node int) any) Call {
	c.last = arg
	return c
}

// to is the command for a node that has seen the script.
func (c Call) to(node int) []any {
	if c.last == nil {
		return c.args
	}
	all := make([]any, len(c.args)+1)
	copy(all, c.args)
	all[len(c.args)] = c.last(node)
	return all
}

// toStranger is the command for a node that has not seen the script yet.
func (c Call) toStranger(node int) []any {
	all := append([]any{"eval", c.script.source}, c.args[2:]...)
	if c.last != nil {
		all = append(all, c.last(node))
	}
	return all
}
