package redlock

import (
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/nodelist"
)

// Open is [New] with its own clients, one for each URL. They are made as by [ClientOptions] and closed by
// [Locker.Close]. Open does not connect yet. Either all URLs or none must have a user and a password. A mixed list may
// have been split at a comma of a password, and parts of the password would be taken for hosts.
func Open(urls []string, opts ...Option) (*Locker, error) {
	settings, found := newSettings(opts)
	clients, err := newClients(urls, settings.tls)
	if err != nil {
		return nil, errors.Join(err, errors.Join(found...))
	}
	l, err := newLocker(clients, settings, found)
	if err != nil {
		closeUnused(clients)
		return nil, err
	}
	l.owned = clients
	return l, nil
}

// check is [inside.CheckLocker].
func check(urls []string, opts []Option) (Settings, error) {
	settings, problems := newSettings(opts)
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

// ClientOptions returns the options of a client for one node. node is host:port, or a URL
// redis://[user:password@]host:port[/db], or rediss:// for TLS; valkey:// and valkeys:// mean the same. White space and
// invisible characters around it are ignored, such as the last line break of a file. Change what you need, such as
// TLSConfig or CredentialsProvider, make a client with them and pass that to [New]. The option skip_verify is refused,
// because it lets anybody on the network path pose as the node and read the password. No error repeats any part of the
// URL, since a mistyped URL may have the password anywhere. The options themselves contain the password: do not print
// them.
//
// Servers list the connections under the name redlockfx, or under ClientName if you set it. If a server refuses the
// name redlockfx, the connection goes unnamed; if it refuses ClientName, go-redis does not connect.
func ClientOptions(node string) (*redis.Options, error) {
	o, err := nodelist.Options(node)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return o, nil
}

// newClients makes a client for each URL. If any URL is wrong, it makes none and returns an error that identifies each
// wrong URL by its position.
func newClients(urls []string, secure func() *tls.Config) ([]redis.UniversalClient, error) {
	var problems []error
	var clients []redis.UniversalClient
	for i, u := range urls {
		o, err := ClientOptions(u)
		if err == nil && secure != nil {
			if err = nodelist.UseTLS(o, secure()); err != nil {
				err = fmt.Errorf("%w: %w", ErrConfig, err)
			}
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

func closeUnused(clients []redis.UniversalClient) {
	for _, client := range clients {
		_ = client.Close() // nothing was sent on it
	}
}

// checkNodes returns the nodes' names for errors, and the problems of the list.
func checkNodes(nodes []redis.UniversalClient) (addrs []string, found problems) {
	addrs, all := nodelist.Check(nodes, mostNodes)
	for _, problem := range all {
		found.add("%s", problem)
	}
	return addrs, found
}
