package redlock

import "time"

// granularity is the error of Redis' own expiry, which counts in whole milliseconds.
const granularity = 2 * time.Millisecond

// validity is how long a hold can be trusted. It begins when the request was sent, since a node
// may have started its clock right then, and ends early by what the clocks' rates may differ.
type validity struct {
	sent  time.Time // by the Locker's clock, read before the first byte left
	ttl   time.Duration
	drift float64
}

func (v validity) deadline() time.Time { return v.sent.Add(v.ttl - allowance(v.ttl, v.drift)) }

// allowance is how much earlier than its ttl a hold ends for its holder.
func allowance(ttl time.Duration, drift float64) time.Duration {
	return time.Duration(float64(ttl)*drift) + granularity
}
