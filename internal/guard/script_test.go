package guard_test

import (
	"fmt"
	"strings"
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
	const ours, longer, other = "000000010000 0123456789abcdef", "000000060000 0123456789abcdef", "000000010000 fedcba9876543210"
	id := strings.Repeat("-", 40)
	join := func() { // as a list does
		c.Node(0).HSet("{p}", "g", "3 "+id+" 0000000000000000 0000000000000000 000000010000 0123456789abcdef 0000000000000")
	}
	taken := func() {
		c.Node(0).HSet("{p}", "g", strings.Replace(c.Node(0).HGet("{p}", "g"), "0123456789abcdef", "----------------", 1))
	}
	for _, step := range []struct {
		name        string
		before      func()
		at          float64 // s, by the server's clock
		list, flags string
		want        string
	}{
		{"no guard: the server is in no list", nil, 80, ours, "", "l0"},
		{"the guard of another server, and a script that only reads", join, 90, ours, "s", "g10000/10000"},
		{"also after that", nil, 100, ours, "", "g10000/10000"},
		{"in the guard", nil, 105, ours, "", "g5000/10000"},
		{"after it", nil, 110, ours, "", "granted"},
		{"another list", nil, 111, other, "", "l0"},
		{"another list, long after", func() { c.Node(0).HSet("{p}", "s", "id 00:1:a,b,c 00:2:a") }, 122.9, other, "", "l3"},
		{"a longer lease: since the start of the guard", nil, 130, longer, "", "g30000/60000"},
		{"the longest lease of the prefix counts", nil, 131, ours, "", "g29000/60000"},
		{"after that", nil, 160, ours, "", "granted"},
		{"the server restarted", func() { c.Restart(0) }, 200, ours, "", "g60000/60000"},
		{"after the longest lease", nil, 260, ours, "", "granted"},
		{"the clock was set back behind the start", nil, 199, ours, "", "g60000/60000"},
		{"no identity", func() { c.Deny(0, "INFO") }, 300, ours, "", "b"},
		{"no identity, which the caller accepts", nil, 300, ours, "b", "granted"},
		{"no guard wanted", nil, 300, "", "", "granted"},
		{"it has taken another list", taken, 300, ours, "b", "l3"},
		{
			"another layout", func() { c.Deny(0); c.Node(0).HSet("{p}", "g", "4 of the future") }, 300, ours, "",
			"e: the hash has layout 4, this version knows 3",
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
