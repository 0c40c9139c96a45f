//go:build unix && !linux

package main

import "os"

func programFile() (string, error) { return os.Executable() }

// setProcessName does nothing here: the system knows a process by the name of its file.
func setProcessName(string) {}
