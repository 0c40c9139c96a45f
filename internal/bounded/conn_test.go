package bounded_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/redlockfx/redlockfx/internal/bounded"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// stream is a connection that delivers a text, some bytes at a time.
type stream struct {
	net.Conn
	text   string
	most   int
	closed bool
}

func (s *stream) Read(p []byte) (int, error) {
	if s.text == "" {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.most)], s.text)
	s.text = s.text[n:]
	return n, nil
}

func (s *stream) Close() error {
	s.closed = true
	return nil
}

func read(text string, most int) (string, *stream, error) {
	s := &stream{text: text, most: most}
	got, err := io.ReadAll(bufio.NewReader(bounded.New(s)))
	return string(got), s, err
}

func TestConn_ReadsWhatServersSay(t *testing.T) {
	var nested strings.Builder
	for range 16 {
		nested.WriteString("*1\r\n")
	}
	for _, text := range []string{
		"+OK\r\n", "-ERR no\r\n", ":-17\r\n", "$-1\r\n", "*-1\r\n", "$0\r\n\r\n", "*0\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", ",-inf\r\n", "(-123456789012345678901\r\n",
		"$5\r\na\r\nbc\r\n+OK\r\n", "*2\r\n$1\r\n*\r\n:1\r\n$1\r\nx\r\n",
		"%1\r\n+a\r\n*2\r\n:1\r\n:2\r\n", "~2\r\n:1\r\n:2\r\n", ">2\r\n+message\r\n$2\r\n*9\r\n", "|1\r\n+ttl\r\n:1\r\n$1\r\nx\r\n", "|0\r\n+x\r\n",
		nested.String() + ":1\r\n" + nested.String() + ":1\r\n",
		fmt.Sprintf("$%d\r\n%s\r\n", bounded.MaxText, strings.Repeat("x", bounded.MaxText)),
		"*1\r\n|1\r\n+a\r\n:1\r\n" + strings.Repeat("*1\r\n", 15) + ":1\r\n",
		"*1048576\r\n", "=5\r\ntxt:a\r\n", "!3\r\nERR\r\n",
	} {
		for _, most := range []int{1, 2, 7, 1 << 20} {
			if len(text)/most > 1<<17 {
				continue // slow, and shows nothing new
			}
			got, s, err := read(text+text, most)
			if err != nil || got != text+text || s.closed {
				t.Errorf("%.60q, %d bytes at a time: %d bytes of %d, closed %v, %v", text, most, len(got), 2*len(text), s.closed, err)
			}
		}
	}
}

func TestConn_RefusesWhatWouldCostTheReaderMuch(t *testing.T) {
	full := fmt.Sprintf("$%d\r\n%s\r\n", bounded.MaxText, strings.Repeat("x", bounded.MaxText))
	for text, why := range map[string]string{
		"$1048577\r\n":                     "a text of more than 1048576 bytes",
		"$9223372036854775807\r\n":         "a text of more than 1048576 bytes",
		"$99999999999999999999999999\r\n":  "a text of more than 1048576 bytes",
		"$?\r\n":                           "unknown length",
		"$1x\r\n":                          "unknown length",
		"*1048577\r\n":                     "a list of more than 1048576 elements",
		"*2\r\n:1\r\n%1000000000\r\n":      "a list of more than 1048576 elements",
		"*?\r\n":                           "unknown length",
		strings.Repeat("*1\r\n", 17):       "deeper than 16",
		strings.Repeat("|1\r\n+a\r\n", 17): "deeper than 16",
		strings.Repeat("*1\r\n", 10) + "|1\r\n+a\r\n:1\r\n" + strings.Repeat("*1\r\n", 7): "deeper than 16",
		"+" + strings.Repeat("x", 1<<16):                                             "a line of more than 65536 bytes",
		strings.Repeat("x", 1<<17):                                                   "a line of more than 65536 bytes",
		"*1000\r\n" + strings.Repeat(full, 65):                                       "more than 67108864 bytes",
		"*1048576\r\n" + strings.Repeat("+"+strings.Repeat("x", 60000)+"\r\n", 1200): "more than 67108864 bytes",
	} {
		for _, most := range []int{3, 1 << 20} {
			if len(text)/most > 1<<17 {
				continue
			}
			got, s, err := read("+OK\r\n"+text, most)
			want.Text(t, err, "the reply of the server is refused", why)
			if !s.closed || len(got) > len(text)+5 {
				t.Errorf("%.60q: closed %v", text, s.closed)
			}
		}
	}
}

func TestConn_GoesOnRefusing(t *testing.T) {
	c := bounded.New(&stream{text: "*?\r\n+OK\r\n", most: 4})
	var first error
	for range 3 {
		n, err := c.Read(make([]byte, 10))
		if first == nil {
			first = err
		}
		if n > 0 || err == nil || !errors.Is(err, first) {
			t.Errorf("%d bytes, %v", n, err)
		}
	}
}

// FuzzConn checks that the bytes passed on are those received, and that no stream blocks the reader.
func FuzzConn(f *testing.F) {
	f.Add("*2\r\n$1\r\n*\r\n:1\r\n", 3)
	f.Add("|1\r\n+a\r\n", 1)
	f.Fuzz(func(t *testing.T, text string, most int) {
		got, _, err := read(text, 1+max(most, 0)%100)
		if !strings.HasPrefix(text, got) || err == nil && got != text {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	})
}

func TestCall_ReturnsWhatTheRuntimePanicsWith(t *testing.T) {
	var reply []any
	want.Text(t, bounded.Call(func() error { _ = reply[0].(string); return nil }), "cannot be read", "index out of range")
	var text any = 1
	want.Text(t, bounded.Call(func() error { _ = text.(string); return nil }), "cannot be read", "not string")
	length := -1
	want.Text(t, bounded.Call(func() error { _ = make([]byte, length); return nil }), "cannot be read", "len out of range")

	own := errors.New("own")
	want.Err(t, bounded.Call(func() error { return own }), own)
	defer func() {
		if got, ok := recover().(error); !ok || !errors.Is(got, own) {
			t.Errorf("it panicked with %v", got)
		}
	}()
	_ = bounded.Call(func() error { panic(own) })
}
