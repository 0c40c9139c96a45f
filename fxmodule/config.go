package redlockfx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
)

// Config is what Module needs to know. A zero field means its default, except Name. The tags are
// for the configuration library of your choice; a time.Duration reads "15s" in YAML, and is a
// number of nanoseconds in JSON.
type Config struct {
	// Name is the election's name, 1 to 200 bytes of UTF-8 without control characters. Replicas
	// of one service share it.
	Name string `yaml:"name" env:"NAME"`
	// Nodes are the addresses of 1, 3 or 5 independent Redis masters: host:port, redis:// or
	// rediss:// URLs. Empty if the clients come through Node.
	Nodes []string `yaml:"nodes" env:"NODES"`
	// TTL is how long the lease lasts without renewal, and so about how long nobody leads after a
	// crash; default 10 s.
	TTL time.Duration `yaml:"ttl" env:"TTL"`
	// MaxTTL is the longest TTL of any lease under the prefix; default TTL.
	MaxTTL time.Duration `yaml:"max_ttl" env:"MAX_TTL"`
	// RenewEvery is the time from one renewal to the next; default TTL/3.
	RenewEvery time.Duration `yaml:"renew_every" env:"RENEW_EVERY"`
	// NodeTimeout is how long a node may take to answer; default TTL/50 within 20 to 200 ms.
	NodeTimeout time.Duration `yaml:"node_timeout" env:"NODE_TIMEOUT"`
	// DrainTimeout is how long runs and callbacks may take to finish at a stop; default 10 s.
	DrainTimeout time.Duration `yaml:"drain_timeout" env:"DRAIN_TIMEOUT"`
	// StopMargin is how long before anybody else can lead the contexts of a leader that cannot renew end;
	// default TTL/5.
	StopMargin time.Duration `yaml:"stop_margin" env:"STOP_MARGIN"`
	// Cooldown is for how long a leader that gave up by itself does not campaign; default TTL/2.
	Cooldown time.Duration `yaml:"cooldown" env:"COOLDOWN"`
	// MaxTenure is after what time a leader hands over by itself, up to TenureJitter less or more;
	// default never.
	MaxTenure    time.Duration `yaml:"max_tenure" env:"MAX_TENURE"`
	TenureJitter time.Duration `yaml:"tenure_jitter" env:"TENURE_JITTER"`
	// Standby is how long this replica lets others go first when nobody leads; default 0.
	Standby time.Duration `yaml:"standby" env:"STANDBY"`
	// NoRestartGuard lets nodes grant leases at once after they have started, or lost their data. For
	// nodes that are thrown away, in tests.
	NoRestartGuard bool `yaml:"no_restart_guard" env:"NO_RESTART_GUARD"`
	// UnseenRestarts accepts nodes whose scripts may not call INFO: see [redlock.WithUnseenRestarts] for what is lost.
	UnseenRestarts bool `yaml:"unseen_restarts" env:"UNSEEN_RESTARTS"`
	// Identity is who this replica is, for people: the name of the pod, say; default host,
	// process and a random part.
	Identity string `yaml:"identity" env:"IDENTITY"`
	// Value is for others to read where this replica leads: its address, say; default "".
	Value string `yaml:"value" env:"VALUE"`
	// KeyPrefix begins every key in Redis; default "redlock".
	KeyPrefix string `yaml:"key_prefix" env:"KEY_PREFIX"`
	// Location is the time zone of jobs that name none; default "UTC".
	Location string `yaml:"location" env:"LOCATION"`
}

const defaultDrainTimeout = 10 * time.Second

// Validate returns everything that is wrong with the Config, or nil. It connects to nothing.
func (c Config) Validate() error {
	_, zone := c.location()
	nodes := c.Nodes
	if len(nodes) == 0 {
		nodes = standIn // for clients that come through Node
	}
	locker, bad := redlock.Open(nodes, c.lockerOptions()...)
	if bad != nil {
		var err error // where the nodes alone are bad, the rest can be tried
		if locker, err = redlock.Open(standIn, c.lockerOptions()...); err != nil {
			return errors.Join(c.checkName(), zone, bad)
		}
	}
	_, err := election.New(locker, c.Name, c.electionOptions()...)
	return errors.Join(bad, err, zone, locker.Close(context.Background()))
}

var standIn = []string{"127.0.0.1:6379"} // is never connected to

// checkName is for a Config so wrong that no election can be tried with it.
func (c Config) checkName() error {
	if c.Name == "" {
		return errors.New("redlockfx: config: name is empty")
	}
	return nil
}

func (c Config) location() (*time.Location, error) {
	if c.Location == "" {
		return time.UTC, nil
	}
	loc, err := time.LoadLocation(c.Location)
	if err != nil {
		return nil, fmt.Errorf("redlockfx: config: location %q: %w", c.Location, err)
	}
	return loc, nil
}

func (c Config) drainTimeout() time.Duration {
	if c.DrainTimeout == 0 {
		return defaultDrainTimeout
	}
	return c.DrainTimeout
}

func (c Config) lockerOptions() []redlock.Option {
	var opts []redlock.Option
	if c.TTL != 0 {
		opts = append(opts, redlock.WithTTL(c.TTL))
	}
	if c.MaxTTL != 0 {
		opts = append(opts, redlock.WithMaxTTL(c.MaxTTL))
	}
	if c.NodeTimeout != 0 {
		opts = append(opts, redlock.WithNodeTimeout(c.NodeTimeout))
	}
	if c.KeyPrefix != "" {
		opts = append(opts, redlock.WithKeyPrefix(c.KeyPrefix))
	}
	if c.NoRestartGuard {
		opts = append(opts, redlock.WithoutRestartGuard())
	}
	if c.UnseenRestarts {
		opts = append(opts, redlock.WithUnseenRestarts())
	}
	return opts
}

func (c Config) electionOptions() []election.Option {
	opts := []election.Option{
		election.WithDrainTimeout(c.drainTimeout()), election.WithStandby(c.Standby),
	}
	if c.RenewEvery != 0 {
		opts = append(opts, election.WithRenewal(c.RenewEvery, 3))
	}
	if c.StopMargin != 0 {
		opts = append(opts, election.WithStopMargin(c.StopMargin))
	}
	if c.Cooldown != 0 {
		opts = append(opts, election.WithCooldown(c.Cooldown))
	}
	if c.MaxTenure != 0 || c.TenureJitter != 0 {
		opts = append(opts, election.WithMaxTenure(c.MaxTenure, c.TenureJitter))
	}
	if c.Identity != "" || c.Value != "" {
		opts = append(opts, election.WithIdentity(cmp.Or(c.Identity, election.DefaultIdentity()), c.Value))
	}
	return opts
}

// String shows the Config without what the URLs of the nodes may hold besides hosts.
func (c Config) String() string {
	hosts := make([]string, len(c.Nodes))
	for i, node := range c.Nodes {
		hosts[i] = host(node)
	}
	return fmt.Sprintf("{name %q, nodes [%s], ttl %v, max ttl %v, renew every %v, node timeout %v, "+
		"drain timeout %v, stop margin %v, cooldown %v, max tenure %v, tenure jitter %v, standby %v, "+
		"no restart guard %v, unseen restarts %v, identity %q, value %q, key prefix %q, location %q}", c.Name,
		strings.Join(hosts, " "), c.TTL, c.MaxTTL, c.RenewEvery, c.NodeTimeout, c.DrainTimeout,
		c.StopMargin, c.Cooldown, c.MaxTenure, c.TenureJitter, c.Standby, c.NoRestartGuard, c.UnseenRestarts,
		c.Identity, c.Value, c.KeyPrefix, c.Location)
}

// GoString is String: %#v must not show a password either.
func (c Config) GoString() string { return "redlockfx.Config" + c.String() }

func host(node string) string {
	if !strings.Contains(node, "://") {
		node = "redis://" + node
	}
	if u, err := url.Parse(node); err == nil {
		return u.Host
	}
	return "(not an address)"
}
