package jobstore

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/lists"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

// reply is a script's reply. After an error it has no more items, and its methods return zero values.
type reply struct {
	*quorum.Reply
	began time.Time // start of the node's incarnation
	whole bool      // see begin.lua
	empty bool      // the node had nothing to lose: new in begin.lua
	err   error     // the first one
}

// readerOf returns a function that reads the first item of a reply, and then the others with read.
func readerOf[T any](read func(*reply) T) func(*quorum.Reply) (T, error) {
	return func(from *quorum.Reply) (result T, err error) {
		r := reply{Reply: from}
		if r.begin(); r.err == nil {
			result = read(&r)
		}
		return result, r.err
	}
}

// begin reads the first item. It fails if the node refuses the call.
func (r *reply) begin() {
	code, number, state := r.pair("pwhelrasu")
	r.whole, r.empty = state == 1, state == 2
	r.began = time.UnixMicro(r.Time - number).UTC()
	if ahead := r.began.Sub(timeOf(r.Time)); ahead > Ahead {
		r.fail(fmt.Errorf("the start of its state is %w, by %v", ErrAhead, ahead))
	}
	switch code {
	case 'e':
		r.fail(errors.New(r.text()))
	case 'l':
		r.fail(lists.Refused(number))
	case 'r':
		h := r.header()
		if ahead := h.Promised.Time().Sub(timeOf(r.Time)); ahead > Ahead {
			r.fail(fmt.Errorf("the ballot that it has promised is %w, by %v", ErrAhead, ahead))
		}
		r.fail(&FencedError{Header: h})
	case 'a':
		r.fail(fmt.Errorf("the ballot is %w", ErrAhead))
	case 's':
		r.fail(&UnservedError{Kind: ErrYoung, Began: r.began})
	case 'u':
		r.fail(&UnservedError{Kind: ErrStateLost, Began: r.began})
	}
}

func (r *reply) fail(err error) { r.err = cmp.Or(r.err, err) }
func (r *reply) more() bool     { return r.err == nil && r.More() }

// item returns the letter of the next item, which must be one of some, and its number.
func (r *reply) item(letters string) (code byte, n int64) {
	code, n, _ = r.pair(letters)
	return code, n
}

func (r *reply) pair(letters string) (code byte, first, second int64) {
	if r.err != nil {
		return 0, 0, 0
	}
	if code, first, second, r.err = r.Item(); r.err == nil && strings.IndexByte(letters, code) < 0 {
		r.err = fmt.Errorf("unexpected item %q", code)
	}
	return code, first, second
}

func (r *reply) text() (text string) {
	if r.err == nil {
		text, r.err = r.Text()
	}
	return text
}

func (r *reply) header() Header {
	h, err := decodeHeader(r.text())
	r.fail(err)
	return h
}

// readList reads a list after a header.
func readList[T any](r *reply, decode func(string) (T, error)) []T {
	r.header()
	_, n := r.item("k")
	return readTexts(r, n, decode)
}

// readTexts reads n texts. It skips those that cannot be decoded.
func readTexts[T any](r *reply, n int64, decode func(string) (T, error)) (all []T) {
	for ; n > 0 && r.err == nil; n-- {
		if one, err := decode(r.text()); err == nil {
			all = append(all, one)
		}
	}
	return all
}
