package quorum

// AreAlike reports whether the answers received so far are alike, by comparing each with the first. If alike is nil,
// they are.
func AreAlike[T any](answers []Answer[T], alike func(a, b *T) bool) bool {
	var first *T
	for i := range answers {
		switch a := &answers[i]; {
		case !a.Over || a.Err != nil:
		case first == nil || alike == nil:
			first = &a.Value
		case !alike(first, &a.Value):
			return false
		}
	}
	return true
}
