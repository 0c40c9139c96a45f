package nodetest

import (
	"crypto/sha1"
	"encoding/hex"
	"reflect"
	"regexp"
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

// programs has a *program for each text of a script, or nil if miniredis must run it.
var programs sync.Map

// special finds what an interpreter does not have. Apart from Lua's basic functions, tables, strings and numbers it has
// redis.call and redis.pcall.
var special = regexp.MustCompile(`\bredis\b(\.p?call\b)?|` +
	`\b(server|os|cjson|json|coroutine|package|debug)\.\w|\b(require|rawset|setfenv|_G)\b`)

// programOf returns the compiled script, or nil if it has an error or needs what an interpreter does not have.
func programOf(script string) *program {
	if known, ok := programs.Load(script); ok {
		return known.(*program)
	}
	p := compile(script)
	programs.Store(script, p)
	return p
}

func compile(script string) *program {
	for _, word := range special.FindAllString(script, -1) {
		if word != "redis.call" && word != "redis.pcall" {
			return nil
		}
	}
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

// runScript answers EVAL, EVALSHA and SCRIPT LOAD as miniredis does, but keeps Lua states and compiled scripts: miniredis
// makes a state for each call and parses each script that is loaded, which costs more than all else that a node does.
// It returns false for whatever is not ordinary (a transaction, a bad argument, an unknown script), which miniredis answers.
func (n *node) runScript(p *server.Peer, cmd string, args []string) bool {
	load := cmd == "SCRIPT" && len(args) == 2 && strings.EqualFold(args[0], "LOAD")
	call := cmd == "EVAL" || cmd == "EVALSHA"
	if !load && (!call || len(args) < 2) || scriptOf(p) != "" { // a script has locked the node
		return false
	}
	n.redis.Lock()
	defer n.redis.Unlock()
	// SCRIPT FLUSH replaces the map.
	scripts := private[map[string]string](n.redis, "scripts")
	if scripts == nil || !n.ordinary(p) {
		return false
	}
	if load {
		loaded := programOf(args[1])
		if loaded == nil {
			return false
		}
		(*scripts)[loaded.sha] = args[1]
		p.WriteBulk(loaded.sha)
		return true
	}
	script, known := args[0], true
	if cmd == "EVALSHA" {
		script, known = (*scripts)[args[0]]
	}
	keys, err := strconv.Atoi(args[1])
	if !known || err != nil || keys < 0 || keys > len(args)-2 {
		return false
	}
	compiled := programOf(script)
	if compiled == nil {
		return false
	}
	in := takeInterpreter()
	defer in.giveBack()
	if in.run(n.server, p, compiled, args[2:2+keys], args[2+keys:]) {
		(*scripts)[compiled.sha] = script
	}
	return true
}

// ordinary reports whether the connection is neither in a transaction nor subscribed nor in need of a password. It is
// called with the node locked.
func (n *node) ordinary(p *server.Peer) bool {
	passwords := private[map[string]string](n.redis, "passwords")
	if p.Ctx == nil || passwords == nil {
		return false
	}
	authenticated := private[bool](p.Ctx, "authenticated")
	transaction := reflect.ValueOf(p.Ctx).Elem().FieldByName("transaction")
	subscriber := reflect.ValueOf(p.Ctx).Elem().FieldByName("subscriber")
	if authenticated == nil || !transaction.IsValid() || !subscriber.IsValid() {
		return false
	}
	return transaction.IsNil() && subscriber.IsNil() && (*authenticated || len(*passwords) == 0)
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

// private returns a private field of a struct of miniredis, or nil if there is none of that name and type.
func private[T any](of any, name string) *T {
	field := reflect.ValueOf(of).Elem().FieldByName(name)
	if !field.IsValid() || field.Type() != reflect.TypeFor[T]() {
		return nil
	}
	return (*T)(field.Addr().UnsafePointer())
}
