//go:build unix

package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// input is what the command reads: /dev/null (nil) in place of a terminal. From that, its process group may not read:
// it would be stopped, and the lease extended forever.
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
