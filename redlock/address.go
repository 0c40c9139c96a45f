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

// hostName matches host names. It does not match "password=...", which is part of another kind of connection string.
var hostName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// ClientOptions returns the options of a client for one node. node is host:port, or a URL
// redis://[user:password@]host:port[/db], or rediss:// for TLS. Change what you need, such as TLSConfig or
// CredentialsProvider, make a client with them and pass that to [New]. The option skip_verify is refused, because it
// lets anybody on the network path pose as the node and read the password. No error repeats any part of the URL, since
// a mistyped URL may have the password anywhere. The options themselves contain the password: do not print them.
//
// Servers list the connections under the name redlockfx, or under ClientName if you set it. If a server refuses the
// name redlockfx, the connection goes unnamed; if it refuses ClientName, go-redis does not connect.
func ClientOptions(node string) (*redis.Options, error) {
	switch u := strings.TrimSpace(node); {
	case u == "":
		return nil, fmt.Errorf("%w: the node's address is empty: is the variable set from which it comes?", ErrConfig)
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
			"strings.Split(list, \",\"); write a comma in a password as %%2C", ErrConfig)
	}
	if err != nil || !isAddress(parsed) {
		return nil, fmt.Errorf("%w: the node's address must be host:port or redis://[user:password@]host:port[/db], or "+
			"rediss:// for TLS, with reserved characters of the password escaped", ErrConfig)
	}
	o, err := redis.ParseURL(u)
	if err != nil {
		// The error of go-redis may repeat a value of the URL.
		return nil, fmt.Errorf("%w: the path of the node's URL is not the number of a database, or its query has an option "+
			"that go-redis does not know, or a bad value", ErrConfig)
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
	o.OnConnect = func(ctx context.Context, c *redis.Conn) error {
		if o.ClientName != "" { // the caller's choice; go-redis has already sent it
			return nil
		}
		return setName(ctx, c)
	}
	o.DisableIdentity = true // go-redis's CLIENT SETINFO is denied to users with minimal rights
	// Disables the handover notices of one vendor's cloud. Without the type, go-redis (9.23) still looks up the host's name,
	// which takes up to two seconds.
	o.MaintNotificationsConfig = &maintnotifications.Config{
		Mode: maintnotifications.ModeDisabled, EndpointType: maintnotifications.EndpointTypeNone,
	}
	return o, nil
}

// dialError adds to an error that the TLS handshake failed, if it did. A server that does not expect TLS sends nothing
// useful, and the original error does not mention TLS.
func dialError(err error, secure bool) error {
	if op, ok := errors.AsType[*net.OpError](err); !secure || ok && op.Op == "dial" {
		return err
	}
	if _, refused := errors.AsType[*tls.CertificateVerificationError](err); refused {
		return err // it already says that
	}
	return fmt.Errorf("the TLS handshake failed; if this port does not use TLS, the URL begins with redis://: %w", err)
}

// setName names the connection on the server. Some managed services refuse that; the connection then goes unnamed.
func setName(ctx context.Context, c *redis.Conn) error {
	err := c.ClientSetName(ctx, "redlockfx").Err()
	if _, answered := errors.AsType[redis.Error](err); answered {
		return nil
	}
	return err
}

// isAddress reports whether what url.Parse took for the host is really a host. A reserved character that was not
// escaped ends the host early. The rest of the password and the '@' are then in the path, the query or the fragment,
// and the apparent host and port are the user and the start of the password.
func isAddress(u *url.URL) bool {
	if u.Scheme != "redis" && u.Scheme != "rediss" {
		return false
	}
	if strings.Contains(u.Path+u.RawQuery, "@") || u.Fragment != "" {
		return false
	}
	// A user without a password would not be authenticated. Such a URL may come from a list that was split at a
	// password's comma.
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
