//go:build unix && !linux

package redisproc

import "syscall"

// dieWithParent has no counterpart here: a child outlives a parent that is killed.
func dieWithParent(*syscall.SysProcAttr) {}
