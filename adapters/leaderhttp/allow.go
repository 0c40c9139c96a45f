package leaderhttp

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Hosts returns a function that allows the URLs that match one of the patterns, for [Redirect] and [Proxy]. A pattern is
// host:port, where host is a name, *.domain for one label before a domain, an address, or a range of addresses:
//
//	Hosts("10.0.0.0/8:8080", "[fd00::/8]:8080", "*.billing.svc.cluster.local:8080", "billing-1:8080")
//
// A URL without a port means 80 for http and 443 for https. Ranges match addresses only, never a name that resolves
// to one. Names match names only. An address with a zone, [fe80::1%25eth0], is never allowed.
func Hosts(patterns ...string) (func(*url.URL) error, error) {
	var all []pattern
	var problems []error
	for _, text := range patterns {
		p, err := parsePattern(text)
		if err != nil {
			problems = append(problems, fmt.Errorf("leaderhttp: pattern %q: %w", text, err))
		}
		all = append(all, p)
	}
	if len(patterns) == 0 {
		problems = append(problems, errors.New("leaderhttp: there is no pattern, so no host would be allowed"))
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return func(u *url.URL) error {
		host, port := address(u.Host, u.Scheme)
		if strings.Contains(u.Host, "%") {
			return fmt.Errorf("leaderhttp: %s has a zone", net.JoinHostPort(host, port))
		}
		for _, p := range all {
			if p.port == port && p.matches(host) {
				return nil
			}
		}
		return fmt.Errorf("leaderhttp: no pattern allows %s", net.JoinHostPort(host, port))
	}, nil
}

// pattern matches addresses if its range is valid, and names otherwise.
type pattern struct {
	addresses netip.Prefix
	label     bool // the host must have one label before the name
	name      string
	port      string
}

var (
	hostName  = regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)
	hostLabel = regexp.MustCompile(`^[a-z0-9_-]+$`)
)

func parsePattern(text string) (p pattern, err error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return p, errors.New("it must be host:port")
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return p, errors.New("the port must be a number from 1 to 65535")
	}
	p.port = strconv.FormatUint(n, 10)
	if strings.Contains(host, "%") {
		return p, errors.New("the host must have no zone")
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		addr = addr.Unmap()
		p.addresses = netip.PrefixFrom(addr, addr.BitLen())
		return p, nil
	}
	if strings.Contains(host, "/") {
		p.addresses, err = netip.ParsePrefix(host)
		return p, err
	}
	p.name, p.label = strings.CutPrefix(strings.ToLower(strings.TrimSuffix(host, ".")), "*.")
	if !hostName.MatchString(p.name) {
		return p, errors.New("the host must be a name, *.domain, an address or a range of addresses")
	}
	return p, nil
}

func (p pattern) matches(host string) bool {
	addr, err := netip.ParseAddr(host)
	if p.addresses.IsValid() {
		return err == nil && p.addresses.Contains(addr)
	}
	if err == nil {
		return false // the parts of an address and its zone are not labels of a name
	}
	if p.label {
		label, domain, _ := strings.Cut(host, ".")
		return domain == p.name && hostLabel.MatchString(label)
	}
	return host == p.name
}

// address returns the host and the port of a URL in a normal form, equal for all spellings of one server.
func address(authority, scheme string) (host, port string) {
	u := url.URL{Host: authority}
	host = strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if addr, err := netip.ParseAddr(host); err == nil {
		host = addr.Unmap().String()
	}
	defaultPort := "80"
	if scheme == "https" {
		defaultPort = "443"
	}
	return host, cmp.Or(u.Port(), defaultPort)
}
