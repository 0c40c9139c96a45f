package redlock

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/redlockfx/redlockfx/internal/bounded"
)

// hostName matches the names of hosts. It does not match "password=...", a part of a connection string of another kind.
var hostName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// ClientOptions returns the options of a client for one node: host:port, or a URL
// redis://[user:password@]host:port[/db], or rediss:// for TLS. Change what you need, TLSConfig or
// CredentialsProvider say, make a client of it and pass that to [New]. The option skip_verify is refused: with it, anybody
// on the network path can pose as the node and read the password. No error repeats any part of the URL, which may hold a
// password in any place where it was mistyped. The options themselves have the password: do not print them.
//
// Servers show the connections by the name redlockfx, or by ClientName if you set it. A server that refuses that name is used
// without one; with ClientName, go-redis does not connect to it.
func ClientOptions(node string) (*redis.Options, error) {
	switch u := strings.TrimSpace(node); {
	case u == "":
		return nil, fmt.Errorf("%w: the node's address is empty: is the variable set that it comes from?", ErrConfig)
	case strings.HasPrefix(u, "unix://"):
		return nil, fmt.Errorf("%w: a unix socket is no address of a node: pass a client of your own to New", ErrConfig)
	}
	u := node
	if !strings.Contains(u, "://") {
		u = "redis://" + u
	}
	parsed, err := url.Parse(u)
	if (err != nil || !isAddress(parsed)) && strings.Contains(node, ",") {
		return nil, fmt.Errorf("%w: the node's address has a comma: give each node as an item of its own, as in "+
			"strings.Split(list, \",\"); in a password a comma is written %%2C", ErrConfig)
	}
	if err != nil || !isAddress(parsed) {
		return nil, fmt.Errorf("%w: the node's address must be host:port or redis://[user:password@]host:port[/db], or "+
			"rediss:// for TLS, with reserved characters of the password escaped", ErrConfig)
	}
	if db := strings.Trim(parsed.Path, "/"); db != "" {
		if _, err := strconv.Atoi(db); err != nil {
			return nil, fmt.Errorf("%w: the path of the node's URL must be the number of a database", ErrConfig)
		}
	}
	o, err := redis.ParseURL(u)
	if err != nil {
		// The error of go-redis may repeat a value.
		return nil, fmt.Errorf("%w: the query of the node's URL has an option that go-redis does not know, or a bad value",
			ErrConfig)
	}
	if o.TLSConfig != nil && o.TLSConfig.InsecureSkipVerify {
		return nil, fmt.Errorf("%w: the node's URL has skip_verify, with which anybody on the network path can pose as the node: "+
			"give the CA of its certificate to WithTLS, or set InsecureSkipVerify there", ErrConfig)
	}
	dial := redis.NewDialer(o)
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, dialError(err, o.TLSConfig != nil)
		}
		return bounded.New(c), nil
	}
	o.DialerRetries = 1 // the next call dials again anyway
	o.DialTimeout = time.Second
	o.PoolSize = 8 // a Locker uses four at a time
	o.OnConnect = func(ctx context.Context, c *redis.Conn) error {
		if o.ClientName != "" { // the caller's choice: go-redis has sent it
			return nil
		}
		return setName(ctx, c)
	}
	o.DisableIdentity = true // its CLIENT SETINFO is denied to users that may not do more than they must
	// The hand-over notices of one vendor's cloud: without them no address is looked up at start.
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o, nil
}

// dialError names the handshake of TLS where it is what failed. A server that expects none says nothing, and the error says as
// little.
func dialError(err error, secure bool) error {
	if op, ok := errors.AsType[*net.OpError](err); !secure || ok && op.Op == "dial" {
		return err
	}
	if _, refused := errors.AsType[*tls.CertificateVerificationError](err); refused {
		return err // which says what it is about
	}
	return fmt.Errorf("the TLS handshake failed; if the server expects none at this port, the URL begins with redis://: %w", err)
}

// setName has the server show connections by a name. One that refuses that, as some managed services do, works without.
func setName(ctx context.Context, c *redis.Conn) error {
	err := c.ClientSetName(ctx, "redlockfx").Err()
	if _, answered := errors.AsType[redis.Error](err); answered {
		return nil
	}
	return err
}

// isAddress reports whether what url.Parse took for the host is one. A reserved character that was not escaped ends the
// host early; then the rest of the password and the '@' are in the path, the query or the fragment, and what looks like
// host and port is the user and the beginning of the password.
func isAddress(u *url.URL) bool {
	if u.Scheme != "redis" && u.Scheme != "rediss" {
		return false
	}
	if strings.Contains(u.Path+u.RawQuery, "@") || u.Fragment != "" {
		return false
	}
	// A user without a password would not be authenticated. It may be half of a list that was split at a password's comma.
	if _, has := u.User.Password(); u.User != nil && !has {
		return false
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return false
		}
	}
	_, err := netip.ParseAddr(u.Hostname())
	return err == nil || hostName.MatchString(u.Hostname())
}
