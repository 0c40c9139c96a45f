package election

import (
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

// Settings are what an Elector works with: its options, and the defaults for the rest.
type Settings struct {
	Identity     string
	TTL          time.Duration // of the lease
	RenewEvery   time.Duration
	StopMargin   time.Duration // how long before anybody else can lead the contexts of a term end
	DrainTimeout time.Duration // how long the lease is renewed for callbacks that have not returned
	Cooldown     time.Duration // how long a leader that gave up by itself does not campaign
	Standby      time.Duration // how long others may win first
}

// Settings returns what the Elector works with.
func (e *Elector) Settings() Settings { return e.config.settings() }

func (c config) settings() Settings {
	return Settings{
		Identity: c.id, TTL: c.ttl, RenewEvery: c.every, StopMargin: c.margin, DrainTimeout: c.drainTimeout,
		Cooldown: c.cooldown, Standby: c.standby,
	}
}

// Validate returns every problem for which [New] would refuse an election of this name and these options on a Locker
// with the settings of locker, or nil.
func Validate(locker redlock.Settings, name string, opts ...Option) error {
	return newConfig(locker, opts).problems(name, locker)
}
