//go:build unix

package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// input returns the input of the command. It returns nil, which means /dev/null, in place of a terminal. If the
// command's process group read from a terminal, the system would stop it, and the lease would be extended forever.
func input(in io.Reader) io.Reader {
	file, ok := in.(*os.File)
	if !ok {
		return in
	}
	if _, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ); err == nil { // only terminals have a size
		return nil
	}
	return in
}
