// Package race tells tests whether the race detector is on. The detector makes simulations about five times slower, so
// they run fewer rounds with it and the full number without it.
package race

// Scale returns the first size with the race detector and the second one without it.
func Scale(with, without int) int {
	if Enabled {
		return with
	}
	return without
}
