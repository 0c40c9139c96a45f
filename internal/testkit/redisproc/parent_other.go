//go:build unix && !linux

package redisproc

import "syscall"

// dieWithParent does nothing on these systems: a child outlives a parent that is killed.
func dieWithParent(*syscall.SysProcAttr) {}
