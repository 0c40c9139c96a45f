package nodetest

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// SetInfo makes node i report value in a field of INFO, whether or not it is true: redis_version,
// run_id, role, maxmemory_policy and so on. With an empty value, the node reports the truth again. A field
// that the nodes do not have is added.
func (c *Cluster) SetInfo(i int, field, value string) {
	c.change(i, func(s *state) {
		s.said = slices.DeleteFunc(slices.Clone(s.said), func(p param) bool { return p.name == field })
		if value != "" {
			s.said = append(s.said, param{field, value})
		}
	})
}

// renew makes the node another server process. A master starts with a replication id of its own.
func (s *state) renew() { s.runID, s.replID = newID(), newID() }

func newID() string {
	id := make([]byte, 20)
	_, _ = rand.Read(id) // never fails
	return hex.EncodeToString(id)
}

// param is a field of INFO.
type param struct{ name, value string }

// info returns what INFO answers, whatever sections are asked for. Real servers show whether they are enough.
func (s state) info() string {
	fields := []param{
		{"redis_version", "7.0.15"},
		{"redis_mode", "standalone"},
		{"run_id", s.runID},
		{"maxmemory", "0"},
		{"maxmemory_policy", "noeviction"},
		{"role", "master"},
		{"connected_slaves", "0"},
		{"master_replid", s.replID},
	}
	for _, said := range s.said {
		fields = slices.DeleteFunc(fields, func(p param) bool { return p.name == said.name })
		fields = append(fields, said)
	}
	var text strings.Builder
	for _, field := range fields {
		fmt.Fprintf(&text, "%s:%s\r\n", field.name, field.value)
	}
	return text.String()
}
