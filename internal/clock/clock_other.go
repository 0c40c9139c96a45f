//go:build !linux

package clock

func machinePair() pair { return wallPair() }
