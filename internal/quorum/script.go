package quorum

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Source is a Lua script, which nodes cache under its hash.
type Source struct {
	name      string
	text, sha []byte
	optional  bool
}

// Script is a Source and the function that parses one call's result from a reply.
type Script[T any] struct {
	*Source
	read func(*Reply) (T, error)
}

// NewScript makes a Script from its text.
func NewScript[T any](name, text string, read func(*Reply) (T, error)) *Script[T] {
	sum := sha1.Sum([]byte(text))
	return &Script[T]{
		Source: &Source{name: name, text: []byte(text), sha: hex.AppendEncode(nil, sum[:])},
		read:   read,
	}
}

// Optional marks a script that nothing depends on, and returns it. If a node answers it with an error, such as a
// missing permission, only the round sees that error, not [Config.Seen]: the node still counts as working.
func (s *Script[T]) Optional() *Script[T] {
	s.optional = true
	return s
}

// Arguments are the script arguments of one call, or those that all calls of a [Command] share. They are requested for
// each node just before they are sent, on any goroutine. A pointer to a string or an int64 is sent as the value it
// points to, which must not change afterwards.
type Arguments interface {
	AppendArgs(node int, args []any) []any
}

// Named are Arguments of calls with a name, such as a lock's. A pipeline has one call of a name at most, whatever its
// command. So each node carries these calls out one after the other, in the order in which they were sent, and never in
// one call of a script, which reads everything before it writes.
type Named interface {
	Arguments
	Name() string
}

// Command is the shared part of calls that may be batched into one script call: its keys and its first arguments. It is
// made once and used for many calls.
type Command[T any] struct {
	script *Script[T]
	keys   []string
	head   Arguments
	most   int
	seen   func(node int, a Answer[T])
}

// Command makes a Command of the script. At most most calls are batched. For nodes that are clusters, all keys must be
// in one slot. The arguments of head, if not nil, come before those of the calls.
func (s *Script[T]) Command(most int, head Arguments, keys ...string) *Command[T] {
	return &Command[T]{script: s, keys: keys, head: head, most: most}
}

// Seen makes fn be called with each answer to a call of the command, on any goroutine, before its round receives it.
func (c *Command[T]) Seen(fn func(node int, a Answer[T])) *Command[T] {
	c.seen = fn
	return c
}

// Call makes one call of the command, with its own arguments if args is not nil.
func (c *Command[T]) Call(args Arguments) Call[T] { return Call[T]{c, args} }

// Call is one call of a script. It is the same on every node, except for what its [Arguments] return.
type Call[T any] struct {
	command *Command[T]
	args    Arguments
}

// command is a Command[T] for any T.
type command interface {
	source() *Source
	limit() int
	// appendTo appends the whole command for a node, with the calls of tasks, all of which belong to this command.
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
		if own := t.calls.(*Round[T]).call.args; own != nil {
			args = own.AppendArgs(node, args)
		}
	}
	return args
}

func (c *Command[T]) deliver(node int, tasks []task, r *result) {
	for _, t := range tasks {
		a := answerOf(r, c.script.read)
		if c.seen != nil {
			c.seen(node, a)
		}
		t.calls.(*Round[T]).finish(t.index, a)
	}
}

// answerOf makes the answer to the next call of a command.
func answerOf[T any](r *result, read func(*Reply) (T, error)) Answer[T] {
	a := Answer[T]{
		Over: true, Resent: r.resent, Err: r.err, Header: r.reply.Header,
		Received: r.received, Took: r.received.Sub(r.sent),
	}
	if a.Err == nil {
		a.Value, a.Err = read(&r.reply)
	}
	return a
}

// Header is the first part of every script's reply.
type Header struct {
	Time     int64  // the node's clock, in microseconds since 1970; 0: not known
	Identity uint64 // of the server; 0: not known
	// Label is the first part of the label of the list that the server serves: "-" if it is joined in none, empty if not known.
	Label string
}

// Reply is a script's reply while it is parsed. A script returns a line, or a list of a line and texts:
//
//	"SECONDS MICROSECONDS IDENTITY.LABEL ITEM ITEM ...", text, text, ...
//
// SECONDS and MICROSECONDS are the node's clock. IDENTITY is up to 15 hexadecimal digits of the server's identity, or
// "-". LABEL, which may be missing, is the first part of the label of its list. An item is a letter and numbers, such as "y17" or
// "h250/17", and may have texts. Batched calls have one item each, in their order. A line costs one allocation, however many items it has.
//
// A list that starts with a number has the node's TIME and then anything: see [Reply.Rest].
type Reply struct {
	Header
	line  string // not yet parsed
	texts []any  // not yet parsed
}

// maxTime bounds a node's clock, so that sums and differences of times cannot overflow. It is in the year 2255.
const maxTime = 1 << 53

// errReply says that a reply is not in the format of our scripts.
var errReply = errors.New("unexpected reply")

func unexpected(raw any) error { return fmt.Errorf("%w %.100q", errReply, fmt.Sprint(raw)) }

// ParseReply parses the header of a script's reply.
func ParseReply(raw any) (r Reply, err error) {
	switch raw := raw.(type) {
	case string:
		r.line = raw
	case []any:
		if len(raw) == 0 {
			return r, unexpected(raw)
		}
		r.texts = raw[1:]
		switch first := raw[0].(type) {
		case string:
			r.line = first
		case int64:
			if first < 0 || first >= maxTime {
				return r, unexpected(raw)
			}
			r.Time = first
			return r, nil
		default:
			return r, unexpected(raw)
		}
	default:
		return r, unexpected(raw)
	}
	seconds, ok1 := r.number()
	micros, ok2 := r.number()
	if !ok1 || !ok2 || seconds < 0 || seconds >= maxTime/1_000_000 || micros < 0 || micros >= 1_000_000 {
		return r, unexpected(raw)
	}
	r.Time = seconds*1_000_000 + micros
	r.Identity, r.Label = r.server()
	return r, nil
}

// server parses the next word: the identity, 0 if it is not a number, and the label.
func (r *Reply) server() (identity uint64, label string) {
	word, rest, _ := strings.Cut(strings.TrimLeft(r.line, " "), " ")
	r.line = rest
	word, label, _ = strings.Cut(word, ".")
	n, err := strconv.ParseUint(word, 16, 60)
	if err != nil {
		n = 0
	}
	return n, label
}

// Rest returns the list after its first element.
func (r *Reply) Rest() []any { return r.texts }

// Item returns the letter and the numbers of the next item. Missing numbers are 0.
func (r *Reply) Item() (code byte, first, second int64, err error) {
	line := strings.TrimLeft(r.line, " ")
	if line == "" {
		return 0, 0, 0, fmt.Errorf("%w: it has too few items", errReply)
	}
	code, r.line = line[0], line[1:]
	first, _ = r.number()
	if strings.HasPrefix(r.line, "/") {
		r.line = r.line[1:]
		second, _ = r.number()
	}
	if r.line != "" && r.line[0] != ' ' {
		return 0, 0, 0, unexpected(line)
	}
	return code, first, second, nil
}

// More reports whether there is another item.
func (r *Reply) More() bool { return strings.TrimLeft(r.line, " ") != "" }

// Text returns the next text.
func (r *Reply) Text() (string, error) {
	if len(r.texts) > 0 {
		if text, ok := r.texts[0].(string); ok {
			r.texts = r.texts[1:]
			return text, nil
		}
	}
	return "", fmt.Errorf("%w: it lacks a text", errReply)
}

// number parses an integer and the spaces before it. It returns false if there is none, or none of 64 bits.
func (r *Reply) number() (n int64, ok bool) {
	line := strings.TrimLeft(r.line, " ")
	end := 0
	for end < len(line) && (line[end] == '-' && end == 0 || '0' <= line[end] && line[end] <= '9') {
		end++
	}
	if end == 0 {
		return 0, false // without the cost of an error
	}
	n, err := strconv.ParseInt(line[:end], 10, 64)
	if err != nil {
		return 0, false
	}
	r.line = line[end:]
	return n, true
}
