package nodetest

import (
	"bufio"
	"bytes"
	"fmt"
	"sync"

	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
)

// interpreter runs scripts, one after the other, of any node.
type interpreter struct {
	lua   *lua.LState
	reply bytes.Buffer
	write *bufio.Writer // to reply
	read  *bufio.Reader // from reply

	// Of the script that runs.
	server *server.Server
	ctx    any
}

// idle are the interpreters that run nothing. A sync.Pool would lose one in four under the race detector.
var idle struct {
	sync.Mutex
	interpreters []*interpreter
}

func takeInterpreter() *interpreter {
	idle.Lock()
	defer idle.Unlock()
	last := len(idle.interpreters) - 1
	if last < 0 {
		return newInterpreter()
	}
	in := idle.interpreters[last]
	idle.interpreters = idle.interpreters[:last]
	return in
}

func (in *interpreter) giveBack() {
	in.server, in.ctx = nil, nil
	idle.Lock()
	defer idle.Unlock()
	idle.interpreters = append(idle.interpreters, in)
}

// protect makes scripts fail that use a global variable of their own, as Redis does.
const protect = `setmetatable(_G, {
  __newindex = function(_, n) error("Script attempted to create global variable '" .. tostring(n) .. "'", 2) end,
  __index = function(_, n)
    error("Script attempted to access nonexistent global variable '" .. tostring(n) .. "'", 2)
  end,
})`

func newInterpreter() *interpreter {
	in := &interpreter{lua: lua.NewState(lua.Options{SkipOpenLibs: true})}
	in.write, in.read = bufio.NewWriter(&in.reply), bufio.NewReader(&in.reply)
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable,
		lua.StringLibName: lua.OpenString, lua.MathLibName: lua.OpenMath,
	} {
		in.lua.Push(in.lua.NewFunction(open))
		in.lua.Push(lua.LString(name))
		in.lua.Call(1, 0)
	}
	module := in.lua.NewTable()
	module.RawSetString("call", in.lua.NewFunction(in.call))
	module.RawSetString("pcall", in.lua.NewFunction(in.pcall))
	in.lua.SetGlobal("redis", module)
	if err := in.lua.DoString(protect); err != nil {
		panic(err)
	}
	return in
}

// run runs a script for p and writes its answer.
func (in *interpreter) run(s *server.Server, p *server.Peer, script *program, keys, argv []string) {
	in.server, in.ctx = s, nest(p, script.sha)
	in.lua.G.Global.RawSetString("KEYS", stringTable(keys))
	in.lua.G.Global.RawSetString("ARGV", stringTable(argv))
	in.lua.Push(in.lua.NewFunctionFromProto(script.proto))
	err := in.lua.PCall(0, lua.MultRet, nil)
	defer in.lua.SetTop(0)
	if err != nil {
		p.WriteError("ERR Error compiling script (new function): " + err.Error()) // in miniredis's words
		return
	}
	writeLua(p, in.lua.Get(1))
}

func (in *interpreter) call(l *lua.LState) int {
	reply, err := in.dispatch(l)
	if err != nil {
		l.Error(lua.LString(err.Error()), 1)
	}
	l.Push(toLua(reply))
	return 1
}

func (in *interpreter) pcall(l *lua.LState) int {
	if reply, err := in.dispatch(l); err != nil {
		l.Push(luaField("err", err.Error()))
	} else {
		l.Push(toLua(reply))
	}
	return 1
}

// dispatch runs the command that the arguments of a Lua function are.
func (in *interpreter) dispatch(l *lua.LState) (any, error) {
	var words []string
	for i := range l.GetTop() {
		words = append(words, l.CheckString(i+1))
	}
	in.reply.Reset()
	in.read.Reset(&in.reply)
	peer := server.NewPeer(in.write)
	peer.Ctx = in.ctx
	in.server.Dispatch(peer, words)
	peer.Flush()
	return server.ParseReply(in.read)
}

func stringTable(values []string) *lua.LTable {
	table := new(lua.LTable)
	for _, value := range values {
		table.Append(lua.LString(value))
	}
	return table
}

func luaField(name, value string) *lua.LTable {
	table := new(lua.LTable)
	table.RawSetString(name, lua.LString(value))
	return table
}

// toLua converts the reply of a command.
func toLua(reply any) lua.LValue {
	switch reply := reply.(type) {
	case nil:
		return lua.LFalse
	case int:
		return lua.LNumber(reply)
	case string:
		return lua.LString(reply)
	case server.Simple:
		return luaField("ok", string(reply))
	case []any:
		table := new(lua.LTable)
		for _, item := range reply {
			table.Append(toLua(item))
		}
		return table
	default:
		panic(fmt.Sprintf("nodetest: a command replied with a %T", reply))
	}
}

// writeLua writes what a script returned. A table is an error, a status, or the items before the first nil.
func writeLua(p *server.Peer, value lua.LValue) {
	switch value := value.(type) {
	case lua.LNumber:
		p.WriteInt(int(value))
	case lua.LString:
		p.WriteBulk(string(value))
	case *lua.LTable:
		if text := value.RawGetString("err"); text != lua.LNil {
			p.WriteError(text.String())
			return
		}
		if text := value.RawGetString("ok"); text != lua.LNil {
			p.WriteInline(text.String())
			return
		}
		n := 0
		for value.RawGetInt(n+1) != lua.LNil {
			n++
		}
		p.WriteLen(n)
		for i := range n {
			writeLua(p, value.RawGetInt(i+1))
		}
	default:
		if value == lua.LTrue {
			p.WriteInt(1)
		} else {
			p.WriteNull()
		}
	}
}
