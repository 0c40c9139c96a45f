//go:build unix && !linux

package integration_test

import "syscall"

// dieWithParent has no counterpart here: a replica outlives a test that is killed.
func dieWithParent() *syscall.SysProcAttr { return nil }
