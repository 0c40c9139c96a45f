package nodetest

import (
	"crypto/sha1"
	"encoding/hex"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// program is a compiled script.
type program struct {
	sha   string
	proto *lua.FunctionProto
}

// programs has a *program for each text of a script, or nil if it has an error.
var programs sync.Map

// programOf returns the compiled script, or nil if it has an error.
func programOf(script string) *program {
	if known, ok := programs.Load(script); ok {
		return known.(*program)
	}
	p := compile(script)
	programs.Store(script, p)
	return p
}

func compile(script string) *program {
	chunk, err := parse.Parse(strings.NewReader(script), "<string>")
	if err != nil {
		return nil
	}
	proto, err := lua.Compile(chunk, "")
	if err != nil {
		return nil
	}
	sum := sha1.Sum([]byte(script))
	return &program{sha: hex.EncodeToString(sum[:]), proto: proto}
}

// runScript answers SCRIPT LOAD and EVALSHA as miniredis does, but keeps Lua states and compiled scripts: miniredis makes
// a state for each call and parses each script that is loaded, which costs more than all else that a node does. It returns
// false for whatever else there is (EVAL, a transaction, a bad argument, an unknown script), which miniredis answers.
func (n *node) runScript(p *server.Peer, cmd string, args []string) bool {
	load := cmd == "SCRIPT" && len(args) == 2 && strings.EqualFold(args[0], "LOAD")
	call := cmd == "EVALSHA" && len(args) >= 2
	if !load && !call || scriptOf(p) != "" { // a script has locked the node
		return false
	}
	n.redis.Lock()
	defer n.redis.Unlock()
	// SCRIPT FLUSH replaces the map.
	scripts := *private[map[string]string](n.redis, "scripts")
	if !n.ordinary(p) {
		return false
	}
	if load {
		loaded := programOf(args[1])
		if loaded == nil {
			return false
		}
		scripts[loaded.sha] = args[1]
		p.WriteBulk(loaded.sha)
		return true
	}
	script, known := scripts[args[0]]
	keys, err := strconv.Atoi(args[1])
	if !known || err != nil || keys < 0 || keys > len(args)-2 {
		return false
	}
	in := takeInterpreter()
	defer in.giveBack()
	in.run(n.server, p, programOf(script), args[2:2+keys], args[2+keys:])
	return true
}

// ordinary reports whether the connection is neither in a transaction nor in need of a password. It is called with the
// node locked.
func (n *node) ordinary(p *server.Peer) bool {
	if p.Ctx == nil { // its first command
		return false
	}
	passwords := *private[map[string]string](n.redis, "passwords")
	transaction := reflect.ValueOf(p.Ctx).Elem().FieldByName("transaction")
	return transaction.IsNil() && (len(passwords) == 0 || *private[bool](p.Ctx, "authenticated"))
}

// nest returns the context of commands that a script of this connection runs.
func nest(p *server.Peer, sha string) any {
	ctx := reflect.New(reflect.TypeOf(p.Ctx).Elem()).Interface()
	*private[bool](ctx, "nested") = true
	*private[bool](ctx, "authenticated") = *private[bool](p.Ctx, "authenticated")
	*private[string](ctx, "nestedSHA") = sha
	*private[int](ctx, "selectedDB") = *private[int](p.Ctx, "selectedDB")
	return ctx
}

// private returns a private field of a struct of miniredis.
func private[T any](of any, name string) *T {
	return (*T)(reflect.ValueOf(of).Elem().FieldByName(name).Addr().UnsafePointer())
}
