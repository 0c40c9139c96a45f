//go:build race

// Package race tells tests whether the race detector is on. It makes simulations about five times slower, so they
// play less under it and the full number without it.
package race

// Enabled reports whether the race detector is on.
const Enabled = true
