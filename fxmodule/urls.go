package redlockfx

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redlockfx/redlockfx/internal/nodelist"
	"github.com/redlockfx/redlockfx/redlock"
)

// NodeURLs are the addresses of nodes. If they are printed or encoded, alone or in a struct (fmt, encoding/json,
// encoding/xml, YAML, log/slog, zap), they show hosts, and neither users nor passwords. That is for logs: what was
// encoded cannot be read back. The exceptions are %w and %p, which go vet refuses. Keep them in an exported field: fmt
// shows the contents of others as they are.
type NodeURLs []string

// redacted returns the hosts. It hides all nodes if one is not an address, or if only some have credentials: the list may
// have been split at a comma in a password, and then several nodes have parts of it.
func (u NodeURLs) redacted() []string {
	hosts, torn := make([]string, len(u)), nodelist.IsTorn(u)
	for i, node := range u {
		o, err := redlock.ClientOptions(node)
		if err != nil || torn {
			return []string{fmt.Sprintf("(%d hidden: not all are addresses)", len(u))}
		}
		hosts[i] = o.Addr
	}
	return hosts
}

// Format writes the hosts for every verb.
func (u NodeURLs) Format(s fmt.State, verb rune) {
	_, _ = fmt.Fprintf(s, fmt.FormatString(s, verb), u.redacted()) // fmt has nowhere to return an error
}

// MarshalText returns the hosts, separated by commas.
func (u NodeURLs) MarshalText() ([]byte, error) { return []byte(strings.Join(u.redacted(), ",")), nil }

// GobEncode returns an error, because gob is for storage.
func (u NodeURLs) GobEncode() ([]byte, error) {
	return nil, errors.New("redlockfx: encoding/gob does not encode nodes, because they have passwords: store their source instead")
}
