// Package chain combines two functions into one that calls both. A nil function is not called, and two nil functions
// stay nil.
package chain

// Of1 returns a function that calls first and then next.
func Of1[A any](first, next func(A)) func(A) {
	if first == nil || next == nil {
		return either(first, next, first == nil)
	}
	return func(a A) {
		first(a)
		next(a)
	}
}

// Of2 is Of1 for functions of two arguments.
func Of2[A, B any](first, next func(A, B)) func(A, B) {
	if first == nil || next == nil {
		return either(first, next, first == nil)
	}
	return func(a A, b B) {
		first(a, b)
		next(a, b)
	}
}

// Of3 is Of1 for functions of three arguments.
func Of3[A, B, C any](first, next func(A, B, C)) func(A, B, C) {
	if first == nil || next == nil {
		return either(first, next, first == nil)
	}
	return func(a A, b B, c C) {
		first(a, b, c)
		next(a, b, c)
	}
}

// Of4 is Of1 for functions of four arguments.
func Of4[A, B, C, D any](first, next func(A, B, C, D)) func(A, B, C, D) {
	if first == nil || next == nil {
		return either(first, next, first == nil)
	}
	return func(a A, b B, c C, d D) {
		first(a, b, c, d)
		next(a, b, c, d)
	}
}

func either[F any](first, next F, isNext bool) F {
	if isNext {
		return next
	}
	return first
}
