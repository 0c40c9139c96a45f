package main

import (
	"encoding/json"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// event is a line that a replica prints. At is by the machine's monotonic clock, which all processes share.
type event struct {
	At      time.Duration
	Replica int
	Kind    kind
	Turn    int64     // of a holder: when it began to hold, by At
	Token   uint64    // of a holder, if the library has tokens
	Tick    time.Time // of a scheduler
}

type kind string

const (
	write kind = "write" // a holder writes to the resource
	begin kind = "begin" // a run begins
)

// now returns the time by the clock that all processes share.
func now() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // fails only for a clock that does not exist
	return time.Duration(t.Nano())
}

// tell prints an event, at once and in one piece.
func (r *replica) tell(e event) {
	e.At, e.Replica = now(), r.Number
	line, err := json.Marshal(e)
	if err != nil {
		panic(err) // an event is plain data
	}
	_, _ = os.Stdout.Write(append(line, '\n'))
}
