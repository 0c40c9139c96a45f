package nodelist

import (
	"cmp"
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
	"unicode"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/redlockfx/redlockfx/internal/bounded"
	"github.com/redlockfx/redlockfx/internal/plain"
)

var (
	// hostName matches host names. It does not match "password=...", which is part of another kind of connection string.
	hostName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	// valkey matches the schemes of Valkey, which go-redis does not know. They mean redis:// and rediss://.
	valkey = regexp.MustCompile(`(?i)^valkey(s?)://`)
)

// Options is redlock.ClientOptions.
func Options(node string) (*redis.Options, error) {
	node = strings.TrimFunc(node, plain.IsInvisible)
	u := valkey.ReplaceAllString(node, "redis$1://")
	if !strings.Contains(u, "://") {
		u = "redis://" + u
	}
	if why := mistake(node, u); why != "" {
		return nil, fmt.Errorf("the node's address %s", why)
	}
	o, err := redis.ParseURL(u)
	if err != nil {
		// The error of go-redis may repeat a value of the URL.
		return nil, errors.New("the path of the node's URL is not the number of a database, or its query has an option that go-redis " +
			"does not know, or a bad value")
	}
	if o.TLSConfig != nil && o.TLSConfig.InsecureSkipVerify {
		return nil, errors.New("the node's URL has skip_verify, with which anybody on the network path can pose as the node: give the " +
			"CA of its certificate to WithTLS, or set InsecureSkipVerify there")
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

// UseTLS replaces the TLS settings of a rediss:// URL. The certificate must match the host in the URL, unless secure
// has another server name.
func UseTLS(o *redis.Options, secure *tls.Config) error {
	if o.TLSConfig == nil {
		return errors.New("WithTLS needs a rediss:// URL: with this one the connection would not be encrypted")
	}
	own := secure.Clone()
	own.ServerName = cmp.Or(own.ServerName, o.TLSConfig.ServerName)
	if !isHost(own.ServerName) {
		return fmt.Errorf("WithTLS: the server name %q is not the name of a host", own.ServerName)
	}
	own.MinVersion = max(own.MinVersion, tls.VersionTLS12)
	o.TLSConfig = own
	return nil
}

// mistake returns what is wrong with an address, or "". u is the address as a URL.
func mistake(node, u string) string {
	first, _ := utf8.DecodeRuneInString(node)
	last, _ := utf8.DecodeLastRuneInString(node)
	switch {
	case node == "":
		return "is empty: is the variable set from which it comes, or does the list have one comma too many?"
	case strings.HasPrefix(node, "unix://"):
		return "is a unix socket: pass a client of your own to New"
	case !utf8.ValidString(node):
		return "is not UTF-8: was its file saved in another encoding, such as UTF-16?"
	case unicode.Is(unicode.Quotation_Mark, first) || unicode.Is(unicode.Quotation_Mark, last):
		return "begins or ends with a quotation mark: write it without quotes, which docker's env files keep as part of the value"
	case first == '@':
		return "begins with an @: if the password before it ends with a line break or has a comma, the address was cut there"
	}
	parsed, err := url.Parse(u)
	hidden := strings.IndexFunc(node, plain.IsInvisible)
	wrong := err != nil || hidden >= 0 || !isAddress(parsed)
	switch {
	case wrong && strings.Contains(node, ","):
		return `has a comma: give each node as an item of its own, as in strings.Split(list, ","); write a comma in a password as %2C`
	case hidden >= 0:
		r, _ := utf8.DecodeRuneInString(node[hidden:])
		return fmt.Sprintf("has white space or an invisible character in it, %q: remove it; write a space in a password as %%20", r)
	case wrong:
		return "must be host:port or redis://[user:password@]host:port[/db], or rediss:// for TLS, with reserved characters " +
			"of the password escaped and an IPv6 host in brackets"
	}
	switch password, _ := parsed.User.Password(); { // without a password, a user would not be authenticated
	case parsed.User != nil && password == "":
		return "has no password before its @: was the file or the variable empty from which it comes? " +
			"A password without a user is written redis://:password@host:port"
	case strings.ContainsFunc(password, unicode.IsControl):
		return "has a line break or another control character in its password, as in %0A: remove the line break at the end of " +
			"the file from which it comes"
	}
	return ""
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
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return false
		}
	}
	if strings.Contains(u.Hostname(), ":") && !strings.HasPrefix(u.Host, "[") {
		return false // without brackets, the port could be a part of the IPv6 address
	}
	return isHost(u.Hostname())
}

func isHost(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil || hostName.MatchString(name)
}
