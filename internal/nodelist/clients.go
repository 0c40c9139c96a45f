package nodelist

import (
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// AnyCluster reports whether a node may be a Redis Cluster, whose servers do not know each other's subscribers.
func AnyCluster(nodes []redis.UniversalClient) bool {
	return slices.ContainsFunc(nodes, func(node redis.UniversalClient) bool {
		_, single := node.(*redis.Client)
		return !single
	})
}

// Check returns the nodes' names for errors, and the problems of the list. A list has at most most nodes.
func Check(nodes []redis.UniversalClient, most int) (addrs, problems []string) {
	found := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	switch {
	case len(nodes) == 0:
		found("nodes: there are none, there must be an odd number, usually 1, 3 or 5")
	case len(nodes)%2 == 0:
		found("nodes: there are %d, the number must be odd: an even number tolerates no more failures than "+
			"the odd number below it", len(nodes))
	case len(nodes) > most:
		found("nodes: there are %d, the limit is %d", len(nodes), most)
	}
	first := make(map[string]int, len(nodes))
	for i, client := range nodes {
		addrs = append(addrs, "")
		if client == nil || (reflect.ValueOf(client).Kind() == reflect.Pointer &&
			reflect.ValueOf(client).IsNil()) {
			found("node %d of %d is nil", i+1, len(nodes))
			continue
		}
		server := ""
		switch c := client.(type) {
		case *redis.Client:
			server = canonical(c.Options().Addr)
			addrs[i] = server
			if server == quorum.Failover { // each has this address: the position tells them apart
				addrs[i] = fmt.Sprintf("%s %d", quorum.Failover, i+1)
			}
		case *redis.ClusterClient:
			addrs[i] = strings.Join(c.Options().Addrs, ",")
			server = addrs[i]
		case *redis.Ring:
			found("node %d of %d is a redis.Ring, which spreads keys over servers; "+
				"a node must be one master", i+1, len(nodes))
			continue
		case *redis.AutoPipeliner:
			found("node %d of %d is a redis.AutoPipeliner, which answers after it has returned: pass the client that it "+
				"was made from", i+1, len(nodes))
			continue
		default:
			addrs[i] = fmt.Sprintf("node %d", i+1)
		}
		if server == "" || server == quorum.Failover {
			server = fmt.Sprintf("%p", client)
		}
		if j, twice := first[server]; twice {
			found("nodes %d and %d of %d are the same server %s", j+1, i+1, len(nodes), addrs[i])
		} else {
			first[server] = i
		}
	}
	return addrs, problems
}

// canonical normalizes an address, so that the same server compares equal.
func canonical(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if strings.EqualFold(host, "localhost") || host == "" || host == "::1" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(strings.ToLower(host), port)
}
