package guard_test

import (
	"fmt"
	"testing"

	"github.com/redlockfx/redlockfx/internal/guard"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

// script runs the guard as the scripts that include it do, at an instant of the server's clock that the test chooses.
var script = guard.Include(`local hash, now, list, flags = KEYS[1], tonumber(ARGV[1]), ARGV[2], ARGV[3]
local anonymous, readonly = string.find(flags, 'b'), string.find(flags, 's')
local guard, identity = redis.call('HGET', hash, 'g'), nil
-- include guard
return (refusal or 'granted') .. (reason and ': ' .. reason or '')`)

func TestScript_RefusesWhatAnEarlierLeaseMayHold(t *testing.T) {
	c := nodetest.Start(1)
	defer c.Close()
	const ours, longer, five = "000000010000 003", "000000060000 003", "000000010000 005"
	for _, step := range []struct {
		name        string
		before      func()
		at          float64 // s, by the server's clock
		list, flags string
		want        string
	}{
		{"no guard, and a script that only reads", nil, 90, ours, "s", "g10000/10000"},
		{"no guard, also after that", nil, 100, ours, "", "g10000/10000"},
		{"in the guard", nil, 105, ours, "", "g5000/10000"},
		{"after it", nil, 110, ours, "", "granted"},
		{"a list of another length", nil, 111, five, "", "l3"},
		{"the list is used", nil, 112, ours, "", "granted"},
		{"and less than a second later", nil, 112.9, ours, "", "granted"},
		{"a list of another length than the one used", nil, 122.9, five, "", "l3"},
		{"a longer lease: since the start of the guard", nil, 130, longer, "", "g30000/60000"},
		{"the longest lease of the prefix counts", nil, 131, ours, "", "g29000/60000"},
		{"after that", nil, 160, ours, "", "granted"},
		{"the server restarted", func() { c.Restart(0) }, 200, ours, "", "g60000/60000"},
		{"after the longest lease", nil, 260, ours, "", "granted"},
		{"the clock was set back behind the start", nil, 199, ours, "", "g60000/60000"},
		{"no identity", func() { c.Deny(0, "INFO") }, 300, ours, "", "b"},
		{"no identity, which the caller accepts", nil, 300, ours, "b", "granted"},
		{"no guard wanted", nil, 300, "", "", "granted"},
		{
			"another layout", func() { c.Deny(0); c.Node(0).HSet("{p}", "g", "3 of the future") }, 300, ours, "",
			"e: the hash has layout 3, this version knows 2",
		},
	} {
		if step.before != nil {
			step.before()
		}
		now := fmt.Sprintf("%.0f", step.at*1_000_000)
		got, err := c.Raw()[0].Eval(t.Context(), script, []string{"{p}"}, now, step.list, step.flags).Text()
		if err != nil || got != step.want {
			t.Errorf("%s: %s, %v, want %s", step.name, got, err, step.want)
		}
	}
}
