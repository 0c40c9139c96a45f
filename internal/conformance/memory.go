package conformance

import (
	"flag"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

var rounds = flag.Int("conformance.rounds", 24, "how many rounds a case with random faults plays in memory")

// InMemory makes a World of n in-memory nodes, for one case. Call it in a bubble.
func InMemory(t *testing.T, n int) *World {
	c := nodetest.Start(n)
	t.Cleanup(c.Close)
	m := &memory{Cluster: c, raw: c.Raw(), backups: make([]*nodetest.Snapshot, n)}
	return &World{Nodes: m, Prefix: "redlock", Rounds: *rounds}
}

type memory struct {
	*nodetest.Cluster
	raw     []*redis.Client
	backups []*nodetest.Snapshot
}

func (m *memory) Size() int               { return len(m.raw) }
func (m *memory) Raw(i int) *redis.Client { return m.raw[i] }
func (m *memory) Links() Links            { return m.Cluster.Links() }
func (m *memory) Backup(i int)            { m.backups[i] = m.Snapshot(i) }
func (m *memory) RestartFromBackup(i int) { m.RestartFrom(i, m.backups[i]) }

func (m *memory) RestartEmpty(i int) {
	m.Kill(i)
	m.Wipe(i)
	m.Restart(i)
}

// cluster is for cases that run in memory only.
func (w *World) cluster() *nodetest.Cluster { return w.Nodes.(*memory).Cluster }

// faults is for cases that run in memory only.
func (p *Process) faults() *nodetest.Links { return p.Links.(*nodetest.Links) }
