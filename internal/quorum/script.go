package quorum

import (
	"crypto/sha1"
	"encoding/hex"
)

// Script is a Lua script that the nodes keep under its hash.
type Script struct {
	source string
	sha    any // a string, boxed once for all calls
}

// NewScript makes a Script of its source.
func NewScript(source string) *Script {
	sum := sha1.Sum([]byte(source))
	return &Script{source: source, sha: hex.EncodeToString(sum[:])}
}

// Call is a script with its keys and arguments. All nodes share it, so nothing may change it.
type Call struct {
	script *Script
	args   []any // as Redis wants them: evalsha, sha, number of keys, keys, arguments
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

// withSource is the same call for a node that has not seen the script yet.
func (c Call) withSource() []any {
	all := append([]any{"eval", c.script.source}, c.args[2:]...)
	return all
}
