package race

// Scale returns the first size under the race detector and the second one without it.
func Scale(with, without int) int {
	if Enabled {
		return with
	}
	return without
}
