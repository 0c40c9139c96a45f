// Package race tells tests whether the race detector is on. It makes simulations about five times slower, so they
// play less under it and the full number without it.
package race

// Scale returns the first size under the race detector and the second one without it.
func Scale(with, without int) int {
	if Enabled {
		return with
	}
	return without
}
