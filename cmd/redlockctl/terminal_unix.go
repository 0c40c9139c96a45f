//go:build unix

package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// terminal reports whether a stream is a terminal, and how many columns it has.
func terminal(stream any) (columns int, is bool) {
	file, ok := stream.(*os.File)
	if !ok {
		return 0, false
	}
	size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false // only terminals have a size
	}
	return int(size.Col), true
}

// input returns the input of the command. It returns nil, which means /dev/null, in place of a terminal. If the
// command's process group read from a terminal, the system would stop it, and the lease would be extended forever.
func input(in io.Reader) io.Reader {
	if _, is := terminal(in); is {
		return nil
	}
	return in
}
