package redlock

import (
	_ "embed" // the scripts
	"errors"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/guard"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

//go:embed guard.lua
var guardSource string

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

//go:embed raise.lua
var raiseSource string

//go:embed inspect.lua
var inspectSource string

var (
	acquireScript = quorum.NewScript("acquire", guard.Source+guardSource+acquireSource)
	extendScript  = quorum.NewScript("extend", extendSource)
	repairScript  = quorum.NewScript("repair", guard.Source+guardSource+repairSource)
	releaseScript = quorum.NewScript("release", releaseSource)
	holderScript  = quorum.NewScript("holder", holderSource)
	raiseScript   = quorum.NewScript("raise", raiseSource)
	inspectScript = quorum.NewScript("inspect", inspectSource)

	scripts = []*quorum.Script{
		acquireScript, extendScript, repairScript, releaseScript, holderScript, inspectScript,
	}
)

// What the second field of a reply says.
const (
	codeNo = iota
	codeYes
	codeGuarded
	codeList
	codeLate
	codeLayout
	codeError
)

// reply is what the scripts return.
type reply struct {
	yes     bool
	number  uint64        // of the fence
	value   string        // of whoever holds the lock; empty: nobody
	ttl     time.Duration // of that hold; below zero: it never ends
	longest time.Duration // lease that the node was told of, where it is longer than ours
}

// isYes is parseReply for the one thing that decides a round.
func isYes(a quorum.Answer) bool {
	fields, ok := a.Reply.([]any)
	return ok && a.Err == nil && len(fields) > 1 && fields[1] == int64(codeYes)
}

// micros is the node's clock, which every script returns first.
func micros(a quorum.Answer) (int64, bool) {
	fields, ok := a.Reply.([]any)
	if !ok || a.Err != nil || len(fields) == 0 {
		return 0, false
	}
	t, ok := fields[0].(int64)
	return t, ok
}

// parseReply reads what all scripts but extend and inspect return. The error is why the node did
// nothing, or is not known to have done anything.
func parseReply(a quorum.Answer) (reply, error) {
	if a.Err != nil {
		return reply{}, a.Err
	}
	fields, ok := a.Reply.([]any)
	if !ok || len(fields) < 2 {
		return reply{}, unexpected(a.Reply)
	}
	numbers := [5]int64{} // of those fields that are numbers
	for i, f := range fields[:min(len(fields), 5)] {
		numbers[i], _ = f.(int64)
	}
	if _, ok := fields[1].(int64); !ok {
		return reply{}, unexpected(a.Reply)
	}
	switch code := numbers[1]; {
	case code == codeNo && len(fields) == 2:
		return reply{}, nil
	case code == codeNo && len(fields) >= 4:
		return parseHold(fields[2], fields[3], numbers[4])
	case code == codeYes:
		return reply{yes: true, number: uint64(numbers[2]), longest: milliseconds(numbers[3])}, nil
	case code == codeGuarded && len(fields) == 4:
		return reply{longest: milliseconds(numbers[3])}, guardedError{milliseconds(numbers[2])}
	case code == codeList && len(fields) == 3:
		return reply{}, listError{theirs: numbers[2]}
	case code == codeLate:
		return reply{}, errLate
	case code == codeLayout && len(fields) == 3:
		return reply{}, layoutError(fmt.Sprint(fields[2]))
	}
	return reply{}, unexpected(a.Reply)
}

func parseHold(holder, ttl any, number int64) (reply, error) {
	text, ok1 := holder.(string)
	left, ok2 := ttl.(int64)
	if !ok1 || !ok2 {
		return reply{}, unexpected([]any{holder, ttl})
	}
	if _, err := parseValue(text); err != nil {
		return reply{}, err
	}
	return reply{value: text, ttl: milliseconds(left), number: uint64(number)}, nil
}

// isExtended is parseExtension for the one thing that decides a round.
func isExtended(a quorum.Answer, i, n int) bool {
	fields, ok := a.Reply.([]any)
	return ok && a.Err == nil && len(fields) == n+1 && fields[i+1] == int64(codeYes)
}

// parseExtension reads what extend returns for the i-th of its n names.
func parseExtension(a quorum.Answer, i, n int) (reply, error) {
	if a.Err != nil {
		return reply{}, a.Err
	}
	fields, ok := a.Reply.([]any)
	if !ok || len(fields) != n+1 {
		return reply{}, unexpected(a.Reply)
	}
	switch answer := fields[i+1].(type) {
	case int64:
		if answer == codeNo || answer == codeYes {
			return reply{yes: answer == codeYes}, nil
		}
	case []any:
		if len(answer) != 2 {
			break
		}
		switch answer[0] {
		case int64(codeLayout):
			return reply{}, layoutError(fmt.Sprint(answer[1]))
		case int64(codeError):
			return reply{}, errors.New(fmt.Sprint(answer[1]))
		}
		return parseHold(answer[0], answer[1], 0)
	}
	return reply{}, unexpected(a.Reply)
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func unexpected(r any) error { return fmt.Errorf("unexpected reply %.100q", fmt.Sprint(r)) }
