package redlockfx

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/redlock"
)

// Config configures a Module. A zero field means its default, except Name. The tags are for the configuration library
// of your choice. A time.Duration reads "15s" in YAML, and is a number of nanoseconds in JSON.
type Config struct {
	// Name is the election's name, 1 to 191 bytes of UTF-8 without invisible characters. Replicas
	// of one service share it.
	Name string `yaml:"name" env:"NAME"`
	// Nodes are the addresses of 1, 3 or 5 independent Redis masters: host:port, redis:// or rediss:// URLs (or
	// valkey://, valkeys://). Leave it empty if you add clients with Node.
	Nodes NodeURLs `yaml:"nodes" env:"NODES"`
	// TLSCAFile has the CAs, in PEM, that sign the certificates of nodes with rediss:// URLs; default the system's.
	TLSCAFile string `yaml:"tls_ca_file" env:"TLS_CA_FILE"`
	// TLSCertFile and TLSKeyFile have the client certificate, in PEM. They are read again for each connection, so that a
	// new certificate needs no restart.
	TLSCertFile string `yaml:"tls_cert_file" env:"TLS_CERT_FILE"`
	TLSKeyFile  string `yaml:"tls_key_file" env:"TLS_KEY_FILE"`
	// TLSServerName is the name in the nodes' certificates; default the host in each URL.
	TLSServerName string `yaml:"tls_server_name" env:"TLS_SERVER_NAME"`
	// TTL is how long the lease lasts without renewal; default 10 s. After a crash, nobody leads for about that long.
	TTL time.Duration `yaml:"ttl" env:"TTL"`
	// MaxTTL is the longest TTL of any lease under the prefix; default TTL.
	MaxTTL time.Duration `yaml:"max_ttl" env:"MAX_TTL"`
	// RenewEvery is the time from one renewal to the next; default TTL/3.
	RenewEvery time.Duration `yaml:"renew_every" env:"RENEW_EVERY"`
	// NodeTimeout is how long a node may take to answer; default TTL/50, but at least 20 ms and at most 200 ms.
	NodeTimeout time.Duration `yaml:"node_timeout" env:"NODE_TIMEOUT"`
	// DrainTimeout is how long runs and callbacks may take to finish at a stop; default 10 s. fx.StopTimeout must be
	// longer: see the package documentation.
	DrainTimeout time.Duration `yaml:"drain_timeout" env:"DRAIN_TIMEOUT"`
	// StopMargin is the time that work has to stop if the leader cannot renew: its contexts end that long before
	// another replica can lead. Default TTL/5.
	StopMargin time.Duration `yaml:"stop_margin" env:"STOP_MARGIN"`
	// Cooldown is how long a leader that gave up on its own does not campaign; default TTL/2.
	Cooldown time.Duration `yaml:"cooldown" env:"COOLDOWN"`
	// MaxTenure is the time after which a leader hands over on its own, plus or minus up to a tenth; default never.
	MaxTenure time.Duration `yaml:"max_tenure" env:"MAX_TENURE"`
	// Standby is how long this replica waits before it campaigns when nobody leads; default 0.
	Standby time.Duration `yaml:"standby" env:"STANDBY"`
	// Observe stops this process from ever campaigning, whatever jobs and callbacks it has. Use it for processes that
	// show who leads, or trigger and pause jobs. Without it a process campaigns as soon as it has a job or a
	// callback.
	Observe bool `yaml:"observe" env:"OBSERVE"`
	// NoRestartGuard lets nodes grant leases as soon as they have started, or lost their data. Use it only in tests,
	// with throwaway nodes.
	NoRestartGuard bool `yaml:"no_restart_guard" env:"NO_RESTART_GUARD"`
	// UnseenRestarts accepts nodes whose scripts may not call INFO. [redlock.WithUnseenRestarts] says which
	// guarantees that costs.
	UnseenRestarts bool `yaml:"unseen_restarts" env:"UNSEEN_RESTARTS"`
	// Identity names this replica for people, for example after its pod; default host, process and a random part.
	Identity string `yaml:"identity" env:"IDENTITY"`
	// Value is published while this replica leads, for example its address; default "".
	Value string `yaml:"value" env:"VALUE"`
	// KeyPrefix is the start of every key in Redis; default "redlock".
	KeyPrefix string `yaml:"key_prefix" env:"KEY_PREFIX"`
	// Location is the time zone of jobs that name none; default "UTC".
	Location string `yaml:"location" env:"LOCATION"`
}

// Validate returns all problems of the Config, or nil, as for a program that only checks its settings. fx.New refuses a Config that
// has any. It opens no connection, but reads the files that the Config
// names. It accepts a Config without Nodes, because they may come through [Node].
func (c Config) Validate() error {
	opts, unreadable := c.lockerOptions()
	settings, bad := inside.CheckLocker(c.Nodes, opts)
	_, zone := c.location()
	var nameless error
	if c.Name == "" {
		nameless = errors.New("redlockfx: config: Name is empty: name the election, the same on every replica of the service")
	}
	return errors.Join(nameless, unreadable, bad,
		inside.CheckElection(settings, cmp.Or(c.Name, "none"), c.electionOptions()), zone)
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

func (c Config) lockerOptions() ([]redlock.Option, error) {
	var opts []redlock.Option
	set(&opts, c.TTL, redlock.WithTTL)
	set(&opts, c.MaxTTL, redlock.WithMaxTTL)
	set(&opts, c.NodeTimeout, redlock.WithNodeTimeout)
	set(&opts, c.KeyPrefix, redlock.WithKeyPrefix)
	if c.NoRestartGuard {
		opts = append(opts, redlock.WithoutRestartGuard())
	}
	if c.UnseenRestarts {
		opts = append(opts, redlock.WithUnseenRestarts())
	}
	secure, err := c.tls()
	set(&opts, secure, redlock.WithTLS)
	return opts, err
}

func (c Config) electionOptions() []election.Option {
	opts := []election.Option{election.WithStandby(c.Standby)}
	set(&opts, c.TTL, election.WithTTL)
	set(&opts, c.DrainTimeout, election.WithDrainTimeout)
	set(&opts, c.StopMargin, election.WithStopMargin)
	set(&opts, c.Cooldown, election.WithCooldown)
	set(&opts, c.RenewEvery, election.WithRenewal)
	set(&opts, c.MaxTenure, election.WithMaxTenure)
	if c.Identity != "" || c.Value != "" {
		opts = append(opts, election.WithIdentity(c.Identity, c.Value))
	}
	return opts
}

// set appends an option, unless value is zero.
func set[V comparable, O any](opts *[]O, value V, option func(V) O) {
	var zero V
	if value != zero {
		*opts = append(*opts, option(value))
	}
}
