package election

import (
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

// Settings are the effective settings of an Elector: its options, and the defaults for the rest.
type Settings struct {
	Identity     string
	TTL          time.Duration // of the lease
	RenewEvery   time.Duration
	StopMargin   time.Duration // from the end of a term's contexts until anybody else can lead
	DrainTimeout time.Duration // how long the lease is renewed for callbacks that have not returned
	Cooldown     time.Duration // how long a leader that gave up by itself does not campaign
	Standby      time.Duration // delay of the campaign, in which others may win
}

// Settings returns the effective settings of the Elector.
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
