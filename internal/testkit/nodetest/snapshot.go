package nodetest

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"strconv"
	"time"
)

// Snapshot is what an append-only file holds: the strings, hashes, sorted sets and lists of a node, each with the
// instant at which it expires by the node's clock, to the millisecond.
type Snapshot struct{ records []record }

// record is a key, the command that sets it, and when it expires; zero means never.
type record struct {
	key     string
	command []string
	expires time.Time
}

//go:embed collect.lua
var collect string

// collectSHA identifies the commands of that script.
var collectSHA = func() string {
	sum := sha1.Sum([]byte(collect))
	return hex.EncodeToString(sum[:])
}()

// Snapshot returns the data of node i, dead or alive, between two commands or scripts. It leaves out
// keys of other types, and of databases other than 0.
func (c *Cluster) Snapshot(i int) *Snapshot {
	n := c.nodes[i]
	s := new(Snapshot)
	for _, found := range n.do([]string{"EVAL", collect, "0"}).([]any) {
		found := found.([]any)
		r := record{key: found[0].(string)}
		if ms := found[1].(int); ms >= 0 {
			r.expires = time.UnixMilli(int64(ms)).Add(c.stateOf(n).offset)
		}
		for _, part := range found[2].([]any) {
			r.command = append(r.command, part.(string))
		}
		s.records = append(s.records, r)
	}
	return s
}

// RestartFrom restarts node i with the data of the snapshot instead of its own, as with an older file.
// Keys that have expired by the node's clock are left out.
func (c *Cluster) RestartFrom(i int, s *Snapshot) {
	c.Kill(i)
	n := c.nodes[i]
	// In one transaction, because a request that the node has already read may still see the data.
	load := [][]string{{"MULTI"}, {"FLUSHALL"}}
	for _, r := range s.records {
		load = append(load, r.command)
		if !r.expires.IsZero() {
			at := r.expires.Add(-c.stateOf(n).offset).UnixMilli()
			load = append(load, []string{"PEXPIREAT", r.key, strconv.FormatInt(at, 10)})
		}
	}
	n.do(append(load, []string{"EXEC"})...)
	c.Restart(i)
}
