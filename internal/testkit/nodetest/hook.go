package nodetest

import (
	"reflect"
	"slices"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// SetPreHook makes node i call hook before each command, also inside scripts. If hook returns true, it
// has answered the command. The hook survives a Restart; nil removes it. Use this method instead of
// [server.Server.SetPreHook], which the nodes need themselves. For a command inside a script, hook must
// neither wait nor call the Cluster, because the node is locked then.
func (c *Cluster) SetPreHook(i int, hook server.Hook) {
	c.change(i, func(s *state) { s.hook = hook })
}

// Deny makes node i answer the given commands with NOPERM, and replaces the commands of an earlier
// Deny. Inside scripts, redis.call raises the error and redis.pcall returns it.
func (c *Cluster) Deny(i int, commands ...string) {
	var denied []string
	for _, command := range commands {
		denied = append(denied, strings.ToUpper(command))
	}
	c.change(i, func(s *state) { s.denied = denied })
}

// answer is the pre-hook of a node in state s.
func (s state) answer(p *server.Peer, cmd string, args []string) bool {
	if p.ClientName == insider || scriptOf(p) == collectSHA {
		return false
	}
	if cmd == refuse {
		p.WriteError(args[0])
		return true
	}
	if s.hook != nil && s.hook(p, cmd, args...) {
		return true
	}
	if slices.Contains(s.denied, cmd) {
		cmd = strings.ToLower(cmd)
		p.WriteError("NOPERM this user has no permissions to run the '" + cmd + "' command")
		return true
	}
	switch {
	case cmd == "INFO":
		p.WriteBulk(s.info())
	case cmd == "TIME" && len(args) == 0:
		s.writeTime(p)
	default:
		return false
	}
	return true
}

// scriptOf returns the SHA-1 of the script that runs the command, or "" if a client runs it. It reads a
// private field of miniredis.
func scriptOf(p *server.Peer) string {
	ctx := reflect.ValueOf(p.Ctx)
	if !ctx.IsValid() {
		return ""
	}
	return ctx.Elem().FieldByName("nestedSHA").String()
}
