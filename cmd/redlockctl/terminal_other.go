//go:build !unix

package main

// terminal knows of no terminals on this system, so tables have the width of their texts.
func terminal(any) (columns int, is bool) { return 0, false }
