package redlock

import (
	_ "embed" // the scripts
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

//go:embed acquire.lua
var acquireSource string

//go:embed extend.lua
var extendSource string

//go:embed repair.lua
var repairSource string

//go:embed release.lua
var releaseSource string

//go:embed holder.lua
var holderSource string

var (
	acquireScript = quorum.NewScript(acquireSource)
	extendScript  = quorum.NewScript(extendSource)
	repairScript  = quorum.NewScript(repairSource)
	releaseScript = quorum.NewScript(releaseSource)
	holderScript  = quorum.NewScript(holderSource)

	scripts = []*quorum.Script{
		acquireScript, extendScript, repairScript, releaseScript, holderScript,
	}
)

// reply is what each of the scripts returns.
type reply struct {
	yes    bool
	number uint64        // of the fence
	value  string        // of whoever holds the lock; empty: nobody
	ttl    time.Duration // of that hold; below zero: it never ends
}

// isYes is parseReply for the one thing that decides a round.
func isYes(a quorum.Answer) bool {
	fields, ok := a.Reply.([]any)
	return ok && a.Err == nil && len(fields) > 0 && fields[0] == int64(1)
}

func parseReply(a quorum.Answer) (reply, error) {
	if a.Err != nil {
		return reply{}, a.Err
	}
	fields, ok := a.Reply.([]any)
	if !ok {
		return reply{}, unexpected(a.Reply)
	}
	switch len(fields) {
	case 1: // {0}
		return reply{}, nil
	case 2: // {1, number}
		number, ok := fields[1].(int64)
		if !ok || !isYes(a) {
			return reply{}, unexpected(a.Reply)
		}
		return reply{yes: true, number: uint64(number)}, nil
	case 4: // {0, value, ttl, number}
		value, ok1 := fields[1].(string)
		ttl, ok2 := fields[2].(int64)
		number, ok3 := fields[3].(int64)
		if !ok1 || !ok2 || !ok3 {
			return reply{}, unexpected(a.Reply)
		}
		if _, err := parseValue(value); err != nil {
			return reply{}, err
		}
		return reply{
			value: value, ttl: time.Duration(ttl) * time.Millisecond, number: uint64(number),
		}, nil
	}
	return reply{}, unexpected(a.Reply)
}

func unexpected(r any) error { return fmt.Errorf("unexpected reply %.100q", fmt.Sprint(r)) }
