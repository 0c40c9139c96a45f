//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lookEvery is how often the guard looks at its clock, at least: the system's own waiting does not count the time that
// the machine was suspended.
const lookEvery = 200 * time.Millisecond

// order is what the guard was told last.
type order struct {
	group group
	at    time.Duration // when it is to be killed, as sinceBoot tells
}

// guarding is the work of the guard: it kills the group at the instant it was told last, or when the pipe ends without
// word that all is well. The code of its end says whether it was the instant.
func guarding(told *os.File) error {
	var o order
	var text []byte
	for {
		wait := lookEvery
		if o.group.leader > 1 {
			wait = max(min(wait, o.at-sinceBoot()), 0)
		}
		more, err := readable(told, wait)
		if err != nil {
			return errors.Join(err, o.kill())
		}
		// All that it was told comes first: it may have been held up itself, and the lease extended.
		if !more {
			if o.group.leader > 1 && sinceBoot() >= o.at {
				if err := o.kill(); err != nil {
					return err
				}
				return exit{lostLease, nil}
			}
			continue
		}
		piece := make([]byte, 4096)
		n, err := told.Read(piece)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return errors.Join(err, o.kill())
		}
		text = append(text, piece[:n]...)
		for line, rest, whole := bytes.Cut(text, []byte("\n")); whole; line, rest, whole = bytes.Cut(text, []byte("\n")) {
			text = rest
			if string(line) == allWell {
				return nil
			}
			if _, err := fmt.Sscan(string(line), &o.group.leader, &o.at, &o.group.mark); err != nil {
				return fmt.Errorf("the guard was told %q: %w", line, err)
			}
		}
	}
}

// readable waits so long for something to read, or for the end of the pipe.
func readable(told *os.File, wait time.Duration) (bool, error) {
	events := []unix.PollFd{{Fd: int32(told.Fd()), Events: unix.POLLIN}}
	n, err := unix.Poll(events, int((wait+time.Millisecond-1)/time.Millisecond))
	if errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return n > 0, err
}

// kill returns an error where there was nothing left to kill, or something is left.
func (o order) kill() error {
	if o.group.leader <= 1 {
		return nil
	}
	err := o.group.kill()
	switch {
	case errors.Is(err, syscall.ESRCH):
		return exit{failed, nil} // nobody has to know
	case err != nil:
		return exit{lostLease, fmt.Errorf("redlockctl is gone or held up, and %w", err)}
	}
	return nil
}
