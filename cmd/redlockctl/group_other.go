//go:build unix && !linux

package main

import "syscall"

// processGroup has the command in a group of its own, which gets signals together.
func processGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// isAtWork reports whether something in the process group still runs, after a signal to it that had this error.
func (g group) isAtWork(err error) bool { return err != nil }
