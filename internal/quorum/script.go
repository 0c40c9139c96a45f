package quorum

import (
	"crypto/sha1"
	"encoding/hex"
)

// Source is a Lua script that the nodes keep under its hash.
type Source struct {
	name, text string
	sha        any // a string, boxed once for all calls
	optional   bool
}

// Name returns the script's name, which is for people.
func (s *Source) Name() string { return s.name }

// Script is a Source whose replies are known: read takes from a reply what one call of it learns.
type Script[T any] struct {
	*Source
	read func(*Reply) (T, error)
}

// NewScript makes a Script of its text.
func NewScript[T any](name, text string, read func(*Reply) (T, error)) *Script[T] {
	sum := sha1.Sum([]byte(text))
	return &Script[T]{
		Source: &Source{name: name, text: text, sha: hex.EncodeToString(sum[:])},
		read:   read,
	}
}

// Optional marks a script that nothing depends on, and returns it. A node that answers it with an error, such as one for
// missing rights, works all the same: [Config.Seen] does not see that error, only the round does.
func (s *Script[T]) Optional() *Script[T] {
	s.optional = true
	return s
}

// Arguments are the arguments of a script that one call brings, or that all calls of a [Command] share. They are asked
// for when they are about to be sent, for each node anew and on any goroutine. A pointer to a string or to an int64 is
// sent as what it points to; it must not change afterwards.
type Arguments interface {
	AppendArgs(node int, args []any) []any
}

// Named are Arguments of calls of which no two with the same name travel in one call of a script, which would see what
// neither has written; and they keep their order, also between commands.
type Named interface {
	Arguments
	Name() string
}

// Command is what calls have in common that may travel together, as one call of a script: its keys and its first
// arguments. It is made once and used for many calls.
type Command[T any] struct {
	script *Script[T]
	keys   []string
	head   Arguments
	most   int
	seen   func(node int, a Answer[T])
}

// Command prepares calls of the script of which at most most travel together. All keys must lie in one slot, for nodes
// that are clusters. The arguments of head, if it is not nil, come before those of the calls.
func (s *Script[T]) Command(most int, head Arguments, keys ...string) *Command[T] {
	return &Command[T]{script: s, keys: keys, head: head, most: most}
}

// Seen has fn called with each answer to a call of the command, before its round sees it, on any goroutine.
func (c *Command[T]) Seen(fn func(node int, a Answer[T])) *Command[T] {
	c.seen = fn
	return c
}

// Call is one call of the command, with arguments of its own if args is not nil.
func (c *Command[T]) Call(args Arguments) Call[T] { return Call[T]{c, args} }

// Call is one call of a script, the same on every node but for what its [Arguments] say.
type Call[T any] struct {
	command *Command[T]
	args    Arguments
}

// command is a Command[T] whatever its T.
type command interface {
	source() *Source
	limit() int
	// appendTo appends the whole command for a node, with the calls of tasks, which are all of this command.
	appendTo(args []any, node int, tasks []task) []any
	// deliver gives each of the tasks its answer.
	deliver(node int, tasks []task, r *result)
}

func (c *Command[T]) source() *Source { return c.script.Source }
func (c *Command[T]) limit() int      { return c.most }

func (c *Command[T]) appendTo(args []any, node int, tasks []task) []any {
	args = append(args, len(c.keys))
	for i := range c.keys {
		args = append(args, &c.keys[i])
	}
	if c.head != nil {
		args = c.head.AppendArgs(node, args)
	}
	for _, t := range tasks {
		if own := t.(*part[T]).round.call.args; own != nil {
			args = own.AppendArgs(node, args)
		}
	}
	return args
}

func (c *Command[T]) deliver(node int, tasks []task, r *result) {
	for _, t := range tasks {
		a := Answer[T]{
			Over: true, Err: r.err, Header: r.reply.Header, Sent: r.sent, Received: r.received, Resent: r.resent,
		}
		if a.Err == nil {
			a.Value, a.Err = c.script.read(&r.reply)
		}
		if c.seen != nil {
			c.seen(node, a)
		}
		p := t.(*part[T])
		p.round.finish(p.index, a)
	}
}
