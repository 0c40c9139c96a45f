package redlock

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Open is [New] with clients of its own, one for each URL, made as [ClientOptions] says and closed
// by [Locker.Close]. It connects to nothing yet.
func Open(urls []string, opts ...Option) (*Locker, error) {
	clients, err := newClients(urls)
	if err != nil {
		return nil, errors.Join(err, errors.Join(newSettings(opts).problems()...))
	}
	l, err := New(clients, opts...)
	if err != nil {
		closeUnused(clients)
		return nil, err
	}
	l.owned = clients
	return l, nil
}

// Validate returns the settings that [Open] would work with, and every problem for which it would refuse them, or nil.
// It connects to nothing. Without any URL the nodes are not checked.
func Validate(urls []string, opts ...Option) (Settings, error) {
	settings := newSettings(opts)
	problems := settings.problems()
	if len(urls) > 0 {
		clients, err := newClients(urls)
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

// newClients makes a client for each URL, or none and an error that names every URL that is wrong by its place.
func newClients(urls []string) ([]redis.UniversalClient, error) {
	var problems []error
	var clients []redis.UniversalClient
	for i, u := range urls {
		o, err := ClientOptions(u)
		if err != nil {
			problems = append(problems, fmt.Errorf("node %d of %d: %w", i+1, len(urls), err))
			continue
		}
		clients = append(clients, redis.NewClient(o))
	}
	if len(problems) > 0 {
		closeUnused(clients)
		return nil, errors.Join(problems...)
	}
	return clients, nil
}

func closeUnused(clients []redis.UniversalClient) {
	for _, client := range clients {
		_ = client.Close() // nothing was sent on it
	}
}

// ClientOptions returns the options of a client for one node: host:port, or a URL
// redis://[user:password@]host:port[/db], or rediss:// for TLS. Change what you need, TLSConfig or
// CredentialsProvider say, make a client of it and pass that to [New]. No error repeats the URL,
// which may hold a password.
func ClientOptions(node string) (*redis.Options, error) {
	u := node
	if !strings.Contains(u, "://") {
		u = "redis://" + u
	}
	parsed, err := url.Parse(u)
	// An '@' behind the host is that of a password with a character that ends the host: what stands there is no host.
	if err != nil || parsed.Hostname() == "" || strings.Contains(parsed.Path+parsed.RawQuery+parsed.Fragment, "@") {
		return nil, fmt.Errorf("%w: the node's address must be host:port or "+
			"redis://[user:password@]host:port[/db], with reserved characters of the password escaped",
			ErrConfig)
	}
	if parsed.Scheme != "redis" && parsed.Scheme != "rediss" {
		return nil, fmt.Errorf("%w: node %s: scheme %q must be redis or rediss",
			ErrConfig, parsed.Host, parsed.Scheme)
	}
	if db := strings.Trim(parsed.Path, "/"); db != "" {
		if _, err := strconv.Atoi(db); err != nil {
			return nil, fmt.Errorf("%w: node %s: path %q must be the number of a database",
				ErrConfig, parsed.Host, parsed.Path)
		}
	}
	o, err := redis.ParseURL(u)
	if err != nil {
		// go-redis's own words may repeat a value.
		return nil, fmt.Errorf("%w: node %s: its query has an option that go-redis does not know, "+
			"or a bad value", ErrConfig, parsed.Host)
	}
	o.DialerRetries = 1 // the next call dials again anyway
	o.DialTimeout = time.Second
	o.PoolSize = 8 // a Locker uses four at a time
	if o.ClientName == "" {
		o.ClientName = "redlockfx"
	}
	// The hand-over notices of one vendor's cloud: without them no address is looked up at start.
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o, nil
}

// anyCluster reports whether a node is a Redis Cluster, whose servers do not know each other's subscribers.
func anyCluster(nodes []redis.UniversalClient) bool {
	return slices.ContainsFunc(nodes, func(node redis.UniversalClient) bool {
		_, single := node.(*redis.Client)
		return !single
	})
}

// checkNodes returns the nodes' names for errors, and what is wrong with the list.
func checkNodes(nodes []redis.UniversalClient) (addrs []string, found problems) {
	switch {
	case len(nodes) == 0:
		found.add("nodes: there are none, there must be 1, 3, 5, ...")
	case len(nodes)%2 == 0:
		found.add("nodes: there are %d, the number must be odd: an even one spares no more nodes than "+
			"the odd one below", len(nodes))
	case len(nodes) > mostNodes:
		found.add("nodes: there are %d, there can be %d", len(nodes), mostNodes)
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
			if server == failover {
				addrs[i] = fmt.Sprintf("%s %d", failover, i+1)
			}
		case *redis.ClusterClient:
			addrs[i] = strings.Join(c.Options().Addrs, ",")
			server = addrs[i]
		case *redis.Ring:
			found.add("node %d of %d is a redis.Ring, which spreads keys over servers; "+
				"a node must be one master", i+1, len(nodes))
			continue
		case *redis.AutoPipeliner:
			found.add("node %d of %d is a redis.AutoPipeliner, which answers later than it returns: give the client that it "+
				"was made of", i+1, len(nodes))
			continue
		default:
			addrs[i] = fmt.Sprintf("node %d", i+1)
		}
		if server == "" || server == failover {
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

// failover is what go-redis calls the address of every Sentinel client; here it has the node's place
// in the list after it.
const failover = "FailoverClient"

// canonical writes an address so that the same server reads the same.
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
