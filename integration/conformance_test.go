//go:build unix

package integration_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/conformance"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

// Cases mostly wait, so more cases run at a time than the machine has processors. No other test runs at the same time,
// because the links of all cases pass through this process. Cases that break no node share nodes, each with its own
// prefix. Those that wait for guards start first.
func TestConformance_OfRedisServers(t *testing.T) {
	const size, atATime = 3, 10
	shared := startServers(t, size)
	var cases sync.WaitGroup
	slots := make(chan struct{}, atATime)
	for _, own := range []bool{true, false} {
		for i, c := range conformance.Cases() {
			if c.Server == "" || c.Own != own {
				continue
			}
			slots <- struct{}{}
			cases.Go(func() {
				defer func() { <-slots }()
				t.Run(c.Name, func(t *testing.T) {
					cluster := shared
					if c.Own {
						cluster = startServers(t, size, persist...)
					}
					conformance.Run(t, c, &conformance.World{
						Nodes: newServers(t, cluster, size), Prefix: fmt.Sprint("case-", i), Busy: busy, Rounds: 15,
					})
				})
			})
		}
	}
	cases.Wait()
}

// servers are the first nodes of a cluster, as a case sees them. If one of their methods fails, the case ends.
type servers struct {
	t       *testing.T
	cluster *redisproc.Cluster
	raw     []*redis.Client
}

func newServers(t *testing.T, cluster *redisproc.Cluster, n int) *servers {
	return &servers{t, cluster, admins(t, cluster.Addrs()[:n])}
}

func (s *servers) Size() int               { return len(s.raw) }
func (s *servers) Raw(i int) *redis.Client { return s.raw[i] }

func (s *servers) Requests(i int) int {
	return calls(s.t, s.raw[i], "evalsha") + calls(s.t, s.raw[i], "eval")
}

func (s *servers) Restart(i int) {
	must(s.t, s.node(i).Kill(), s.node(i).Restart(s.t.Context()))
}

func (s *servers) RestartEmpty(i int) {
	must(s.t, s.node(i).Kill(), s.node(i).RestartEmpty(s.t.Context()))
}

func (s *servers) Backup(i int) { must(s.t, s.node(i).Backup()) }

func (s *servers) RestartFromBackup(i int) {
	must(s.t, s.node(i).Kill(), s.node(i).RestartFromBackup(s.t.Context()))
}

func (s *servers) node(i int) *redisproc.Node { return s.cluster.Node(i) }

// Links gives each process its own proxy in front of each node.
func (s *servers) Links() conformance.Links {
	var l links
	for i := range s.Size() {
		proxy, err := s.node(i).Proxy()
		must(s.t, err)
		l = append(l, proxy)
	}
	return l
}

type links []*redisproc.Proxy

func (l links) Options(i int) *redis.Options { return &redis.Options{Addr: l[i].Addr()} }

func (l links) Cut(nodes ...int)  { l.each(nodes, (*redisproc.Proxy).Refuse) }
func (l links) Hang(nodes ...int) { l.each(nodes, (*redisproc.Proxy).Cut) }
func (l links) Heal(nodes ...int) { l.each(nodes, (*redisproc.Proxy).Heal) }

func (l links) Delay(d time.Duration, nodes ...int) {
	l.each(nodes, func(p *redisproc.Proxy) { p.Delay(d) })
}

func (l links) each(nodes []int, do func(*redisproc.Proxy)) {
	for _, i := range nodes {
		do(l[i])
	}
	if len(nodes) == 0 {
		for _, p := range l {
			do(p)
		}
	}
}
