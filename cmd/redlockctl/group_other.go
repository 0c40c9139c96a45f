//go:build unix && !linux

package main

import "syscall"

// processGroup has the command in a group of its own, which gets signals together.
func processGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
