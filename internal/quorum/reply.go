package quorum

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Header is the first part of every script's reply.
type Header struct {
	Time     int64  // the node's clock, in microseconds since 1970; 0: not known
	Identity uint64 // of the server; 0: not known
}

// Reply is a script's reply while it is parsed. A script returns a line, or a list of a line and texts:
//
//	"SECONDS MICROSECONDS IDENTITY ITEM ITEM ...", text, text, ...
//
// SECONDS and MICROSECONDS are the node's clock. IDENTITY is up to 15 hexadecimal digits of the server's identity, or
// "-". An item is a letter and numbers, such as "y17" or "h250/17", and may have texts. Batched calls have one item
// each, in their order. A line costs one allocation, however many items it has.
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
	r.Time, r.Identity = seconds*1_000_000+micros, r.identity()
	return r, nil
}

// identity parses the next word; 0 if it is not a number.
func (r *Reply) identity() uint64 {
	word, rest, _ := strings.Cut(strings.TrimLeft(r.line, " "), " ")
	r.line = rest
	n, err := strconv.ParseUint(word, 16, 60)
	if err != nil {
		return 0
	}
	return n
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
