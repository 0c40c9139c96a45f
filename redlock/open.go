package redlock

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/nodelist"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

// Open is [New] with its own clients, one for each URL. They are made as by [ClientOptions] and closed by
// [Locker.Close]. Open does not connect yet. Either all URLs or none must have a user and a password. A mixed list may
// have been split at a comma of a password, and parts of the password would be taken for hosts.
func Open(urls []string, opts ...Option) (*Locker, error) {
	settings := newSettings(opts)
	clients, err := newClients(urls, settings.tls)
	if err != nil {
		return nil, errors.Join(err, errors.Join(settings.problems()...))
	}
	l, err := newLocker(clients, settings, nil)
	if err != nil {
		closeUnused(clients)
		return nil, err
	}
	l.owned = clients
	return l, nil
}

// Validate returns the settings that [Open] would use, and an error with every problem for which it would fail. It does
// not connect. Without any URL, the nodes are not checked.
func Validate(urls []string, opts ...Option) (Settings, error) {
	settings := newSettings(opts)
	problems := settings.problems()
	if len(urls) > 0 {
		clients, err := newClients(urls, settings.tls)
		if err != nil {
			problems = append(problems, err)
		} else {
			_, found := checkNodes(clients)
			problems = append(found, problems...)
			closeUnused(clients)
		}
	}
	return settings, errors.Join(problems...)
}

// newClients makes a client for each URL. If any URL is wrong, it makes none and returns an error that identifies each
// wrong URL by its position.
func newClients(urls []string, secure func() *tls.Config) ([]redis.UniversalClient, error) {
	var problems []error
	var clients []redis.UniversalClient
	for i, u := range urls {
		o, err := ClientOptions(u)
		if err == nil && secure != nil {
			err = useTLS(o, secure())
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("node %d of %d: %w", i+1, len(urls), err))
			continue
		}
		clients = append(clients, redis.NewClient(o))
	}
	if len(problems) == 0 && nodelist.IsTorn(urls) {
		problems = append(problems, fmt.Errorf("%w: nodes: of the %d addresses only some have a user and a password, or one of them "+
			"lacks its redis://: if a password has a comma, write %%2C; if a node has no password, give it one, or pass clients "+
			"of your own to New", ErrConfig, len(urls)))
	}
	if len(problems) > 0 {
		closeUnused(clients)
		return nil, errors.Join(problems...)
	}
	return clients, nil
}

// useTLS replaces the TLS settings of a rediss:// URL. The certificate must match the host in the URL, unless secure
// has another server name.
func useTLS(o *redis.Options, secure *tls.Config) error {
	if o.TLSConfig == nil {
		return fmt.Errorf("%w: WithTLS needs a rediss:// URL: with this one the connection would not be encrypted", ErrConfig)
	}
	own := secure.Clone()
	own.ServerName = cmp.Or(own.ServerName, o.TLSConfig.ServerName)
	if !isHost(own.ServerName) {
		return fmt.Errorf("%w: WithTLS: the server name %q is not the name of a host", ErrConfig, own.ServerName)
	}
	own.MinVersion = max(own.MinVersion, tls.VersionTLS12)
	o.TLSConfig = own
	return nil
}

func closeUnused(clients []redis.UniversalClient) {
	for _, client := range clients {
		_ = client.Close() // nothing was sent on it
	}
}

// anyCluster reports whether a node may be a Redis Cluster, whose servers do not know each other's subscribers.
func anyCluster(nodes []redis.UniversalClient) bool {
	return slices.ContainsFunc(nodes, func(node redis.UniversalClient) bool {
		_, single := node.(*redis.Client)
		return !single
	})
}

// checkNodes returns the nodes' names for errors, and the problems of the list.
func checkNodes(nodes []redis.UniversalClient) (addrs []string, found problems) {
	switch {
	case len(nodes) == 0:
		found.add("nodes: there are none, there must be an odd number, usually 1, 3 or 5")
	case len(nodes)%2 == 0:
		found.add("nodes: there are %d, the number must be odd: an even number tolerates no more failures than "+
			"the odd number below it", len(nodes))
	case len(nodes) > mostNodes:
		found.add("nodes: there are %d, the limit is %d", len(nodes), mostNodes)
	}
	first := make(map[string]int, len(nodes))
	for i, client := range nodes {
		addrs = append(addrs, "")
		if client == nil || (reflect.ValueOf(client).Kind() == reflect.Pointer &&
			reflect.ValueOf(client).IsNil()) {
			found.add("node %d of %d is nil", i+1, len(nodes))
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
			found.add("node %d of %d is a redis.Ring, which spreads keys over servers; "+
				"a node must be one master", i+1, len(nodes))
			continue
		case *redis.AutoPipeliner:
			found.add("node %d of %d is a redis.AutoPipeliner, which answers after it has returned: pass the client that it "+
				"was made from", i+1, len(nodes))
			continue
		default:
			addrs[i] = fmt.Sprintf("node %d", i+1)
		}
		if server == "" || server == quorum.Failover {
			server = fmt.Sprintf("%p", client)
		}
		if j, twice := first[server]; twice {
			found.add("nodes %d and %d of %d are the same server %s", j+1, i+1, len(nodes), addrs[i])
		} else {
			first[server] = i
		}
	}
	return addrs, found
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
