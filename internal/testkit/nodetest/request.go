package nodetest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// Requests returns how many commands clients have sent to node i, whether or not they have arrived. Each
// command of a pipeline counts. Setup commands (see DropReplies) and commands of scripts do not.
func (c *Cluster) Requests(i int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[i].requests
}

// refuse is the command that makes a node answer with an error line.
const refuse = "NODETEST.REFUSE"

// isSetup reports whether clients send the command to set up a connection.
func isSetup(name string) bool {
	switch name {
	case "HELLO", "AUTH", "SELECT", "CLIENT", "ROLE", "CONFIG", "INFO":
		return true
	}
	return false
}

// request returns a command as clients write it: an array of bulk strings.
func request(words ...string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(words))
	for _, word := range words {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(word), word)
	}
	return b
}

// firstRequest returns the size of the first command in b and its name in upper case. The size is 0 while
// the command is incomplete. If b is not a valid command, firstRequest returns the size of all of b and no
// name, and the node will refuse it.
func firstRequest(b []byte) (size int, name string) {
	unread := bytes.NewReader(b)
	buffer := bufio.NewReader(unread)
	command, err := server.ParseReply(buffer) // a command looks like a reply that is an array
	switch {
	case errors.Is(err, io.EOF):
		return 0, ""
	case err != nil:
		return len(b), ""
	}
	if words, _ := command.([]any); len(words) > 0 {
		name = strings.ToUpper(fmt.Sprint(words[0]))
	}
	return len(b) - unread.Len() - buffer.Buffered(), name
}
