//go:build unix && !linux

package main

import "os"

func programFile() (string, error) { return os.Executable() }

// setProcessName does nothing: this system names a process after its file.
func setProcessName(string) {}
