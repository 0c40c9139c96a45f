package redlock

import "time"

// granularity allows for the error of expiry times, which Redis counts in milliseconds.
const granularity = 2 * time.Millisecond

// validity is how long a hold can be trusted. It starts when the request was sent, because a node may have started to
// count the TTL right then. It ends early by the drift between the clocks.
type validity struct {
	sent  time.Time // by the Locker's clock, read before the first byte left
	ttl   time.Duration
	drift float64
}

func (v validity) deadline() time.Time { return v.sent.Add(v.ttl - allowance(v.ttl, v.drift)) }

// allowance returns how much earlier than its TTL a hold ends for its holder.
func allowance(ttl time.Duration, drift float64) time.Duration {
	return time.Duration(float64(ttl)*drift) + granularity
}
