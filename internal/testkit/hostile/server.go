// Package hostile has a server that is not a Redis server, and answers every command with something unexpected.
package hostile

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/alicebob/miniredis/v2/server"
)

// Server answers each command in the same way, except those that a client sends first.
type Server struct {
	Addr  string
	Asked atomic.Int64 // commands
	Dials atomic.Int64 // connections

	answer Answer
}

// Answer writes the server's answer to a command. It may write for as long as the connection accepts data.
type Answer func(w io.Writer) error

// Says answers with a text.
func Says(text string) Answer {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// Repeats answers with begin, and then with text over and over until the connection is closed.
func Repeats(begin, text string) Answer {
	text = strings.Repeat(text, 1+4096/len(text))
	return func(w io.Writer) error {
		_, err := io.WriteString(w, begin)
		for err == nil {
			_, err = io.WriteString(w, text)
		}
		return err
	}
}

// Start starts a server that ends with the test.
func Start(t *testing.T, answer Answer) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Addr: l.Addr().String(), answer: answer}
	ctx, end := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { // ends when the listener is closed
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.Dials.Add(1)
			context.AfterFunc(ctx, func() { _ = c.Close() })
			serving.Go(func() { // ends when the connection is closed
				defer c.Close()
				_ = s.serve(c) // an error means that the connection is over
			})
		}
	})
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		end()
		serving.Wait()
	})
	return s
}

// beginnings are the answers that a client needs before it sends other commands.
var beginnings = map[string]string{"HELLO": "-ERR unknown command 'HELLO'\r\n", "CLIENT": "+OK\r\n", "AUTH": "+OK\r\n", "SELECT": "+OK\r\n"}

func (s *Server) serve(c net.Conn) error {
	r := bufio.NewReader(c)
	for {
		command, err := server.ParseReply(r) // a command has the form of a reply that is an array
		if err != nil {
			return err
		}
		words, _ := command.([]any)
		if len(words) == 0 {
			return fmt.Errorf("%v is no command", command)
		}
		s.Asked.Add(1)
		if text, begins := beginnings[strings.ToUpper(fmt.Sprint(words[0]))]; begins {
			_, err = io.WriteString(c, text)
		} else {
			err = s.answer(c)
		}
		if err != nil {
			return err
		}
	}
}

// Answers returns ways to answer, by their descriptions.
func Answers() map[string]Answer {
	deep := strings.Repeat("*1\r\n", 1_000_000)
	all := map[string]Answer{
		"lists that are deeper than a stack": Says(deep),
		"a text without end":                 Repeats("$1000000\r\n", "x"),
		"a line without end":                 Repeats("+", "x"),
		"a list without end":                 Repeats("*1000000\r\n", "$1\r\nx\r\n"),
		"answers to nobody":                  Repeats("", "+OK\r\n"),
		"messages to nobody":                 Repeats("", "*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$1\r\ny\r\n"),
		"items without end in a line":        Repeats("+1700000000 0 - ", "y1 "),
		"nothing, and it closes":             func(io.Writer) error { return io.EOF },
		"a part of an answer, and it closes": func(w io.Writer) error { _, _ = io.WriteString(w, "$100\r\nx"); return io.EOF },
		"a message where a call is":          Says("*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$0\r\n\r\n"),
		"a script that is unknown forever":   Says("-NOSCRIPT No matching script.\r\n"),
		"it is busy loading, forever":        Says("-LOADING Redis is loading the dataset in memory\r\n"),
		"another server's address":           Says("-MOVED 1 169.254.169.254:80\r\n"),
		"an error with control characters":   Says("-ERR \x1b]0;PWNED\a\x1b[31m\u202e\r\n"),
	}
	for _, text := range []string{
		"HTTP/1.1 400 Bad Request\r\n\r\n", "\x00\xff\x16\x03\x01", "\r\n", "$4000000000\r\n", "$9223372036854775807\r\n", "$-9\r\n", "*4000000000\r\n", "%1\r\n",
		"*0\r\n", "*-1\r\n", "$-1\r\n", ":1\r\n", ",nan\r\n", "*2\r\n:1\r\n:2\r\n", "*1\r\n*1\r\n$1\r\nx\r\n", ">0\r\n", ">1\r\n:1\r\n", ">2\r\n$10\r\ninvalidate\r\n$1\r\nx\r\n",
		"*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n", "*3\r\n:1\r\n:2\r\n:3\r\n", "*1\r\n$7\r\nmessage\r\n", "*3\r\n$7\r\nmessage\r\n:1\r\n*0\r\n", "*2\r\n$4\r\npong\r\n*0\r\n",
		"+1700000000 0 0123456789abcde y9223372036854775807/9223372036854775807 w0 p0 h0 v3 o3 k1000000 c1000000\r\n",
		"*2\r\n$35\r\n99999999999 0 0123456789abcde h1/1 y1\r\n$0\r\n\r\n",
	} {
		all[fmt.Sprintf("%q", text)] = Says(text)
	}
	return all
}
