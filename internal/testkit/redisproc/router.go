//go:build unix

package redisproc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
)

// Router is a TCP listener on loopback that sends each command of a client to one of several nodes, like a proxy that
// knows the protocol: the node changes while the connection stays. Replies to commands pass, pushed messages do not. The
// methods may be called at any time from any goroutine.
type Router struct {
	nodes    []string
	listener net.Listener
	wg       sync.WaitGroup // the accepting goroutine, and one for each client

	mu     sync.Mutex // guards all below
	route  Route
	conns  map[net.Conn]struct{} // those of clients and those to nodes
	closed bool
}

// Route returns the node for each of a pipeline's n commands. Calls do not overlap.
type Route func(n int) []int

// NewRouter opens a router to nodes. The caller closes it.
func NewRouter(route Route, nodes ...*Node) (*Router, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("redisproc: router: %w", err)
	}
	r := &Router{listener: listener, route: route, conns: make(map[net.Conn]struct{})}
	for _, n := range nodes {
		r.nodes = append(r.nodes, n.addr)
	}
	r.wg.Go(r.accept) // Close ends it and waits
	return r, nil
}

// Addr returns the host:port to connect to.
func (r *Router) Addr() string { return r.listener.Addr().String() }

// Close ends all connections, stops listening and waits until both are done.
func (r *Router) Close() error {
	err := r.listener.Close()
	r.mu.Lock()
	r.closed = true
	for conn := range r.conns {
		conn.Close()
	}
	r.mu.Unlock()
	r.wg.Wait()
	return err
}

func (r *Router) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return // it was closed
		}
		if r.add(client) {
			r.wg.Go(func() { r.serve(client) }) // ends with the connection, which Close closes
		}
	}
}

// add makes Close close the connection. It returns false if the router is already closed.
func (r *Router) add(conn net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		conn.Close()
		return false
	}
	r.conns[conn] = struct{}{}
	return true
}

func (r *Router) remove(conn net.Conn) {
	conn.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, conn)
}

// serve returns when either side ends the connection, as with any proxy.
func (r *Router) serve(client net.Conn) {
	defer r.remove(client)
	var links []*link
	for _, addr := range r.nodes {
		conn, err := net.Dial("tcp", addr)
		if err != nil || !r.add(conn) {
			return
		}
		defer r.remove(conn)
		links = append(links, &link{conn, bufio.NewReader(conn)})
	}
	requests := bufio.NewReaderSize(client, 1<<20)
	for {
		commands, err := readPipeline(requests)
		if err != nil {
			return
		}
		r.mu.Lock()
		to := r.route(len(commands))
		r.mu.Unlock()
		var replies []byte
		for i, c := range commands {
			reply, err := ask(links, to[i], c)
			if err != nil {
				return
			}
			replies = append(replies, reply...)
		}
		if _, err := client.Write(replies); err != nil {
			return
		}
	}
}

// link is a connection to one node.
type link struct {
	net.Conn
	replies *bufio.Reader
}

// command is a command's bytes and its name.
type command struct {
	bytes []byte
	name  string
}

// ask returns a node's reply to a command. It sends setup commands to the other nodes as well.
func ask(links []*link, to int, c command) (reply []byte, err error) {
	for i, l := range links {
		setup := c.name == "hello" || c.name == "auth" || c.name == "client" || c.name == "select"
		if i != to && !setup {
			continue
		}
		if _, err := l.Write(c.bytes); err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if err := copyReply(&b, l.replies); err != nil {
			return nil, err
		}
		if i == to {
			reply = b.Bytes()
		}
	}
	return reply, nil
}

// readPipeline reads the commands that have arrived together, at least one.
func readPipeline(r *bufio.Reader) (all []command, err error) {
	for len(all) == 0 || r.Buffered() > 0 {
		var b bytes.Buffer
		if err := copyReply(&b, r); err != nil { // a command has the form of a reply, an array of strings
			return nil, err
		}
		parts := strings.SplitN(b.String(), "\r\n", 4)
		if len(parts) < 4 {
			return nil, errors.New("redisproc: a command without a name")
		}
		all = append(all, command{b.Bytes(), strings.ToLower(parts[2])})
	}
	return all, nil
}

// copyReply copies one whole reply.
func copyReply(w *bytes.Buffer, r *bufio.Reader) error {
	line, err := r.ReadString('\n')
	w.WriteString(line)
	if err != nil {
		return err
	}
	if len(line) < 3 {
		return fmt.Errorf("redisproc: %q is not part of the protocol", line)
	}
	n, _ := strconv.Atoi(line[1 : len(line)-2]) // the length, if the type has one
	parts := 0
	switch line[0] {
	case '$', '=', '!':
		if n >= 0 {
			_, err = io.CopyN(w, r, int64(n)+2)
		}
	case '*', '~', '>':
		parts = n
	case '%':
		parts = 2 * n
	}
	for range parts {
		if err == nil {
			err = copyReply(w, r)
		}
	}
	return err
}
