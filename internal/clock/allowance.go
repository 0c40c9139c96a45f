package clock

import "time"

const (
	// Drift is the share by which the rates of two clocks may differ. Clocks are far better, even those that are being slewed.
	Drift = 0.01
	// Granularity allows for the error of expiry times, which Redis counts in milliseconds.
	Granularity = 2 * time.Millisecond
)

// Allowance returns how much earlier than its TTL a lease ends for its holder.
func Allowance(ttl time.Duration) time.Duration {
	return time.Duration(float64(ttl)*Drift) + Granularity
}
