package lists

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/guard"
	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// in parses the short form of a list. An @ at its end stands for known addresses.
func in(short string) List {
	turn, where := 0, ""
	letters, known := strings.CutSuffix(short[strings.Index(short, ":")+1:], "@")
	if known {
		where = here
	}
	_, _ = fmt.Sscanf(short, "%d:", &turn)
	return list(turn, where, letters)
}

// step makes a server do one step of a table, and fails the test unless it does it, or refuses it if there is an exclamation mark.
func step(t *testing.T, c *nodetest.Cluster, step string) (s Server) {
	t.Helper()
	words := strings.Fields(step)
	d, _ := time.ParseDuration(words[len(words)-1])
	switch words[0] {
	case "sleep":
		time.Sleep(d)
		return s
	case "restart":
		c.Restart(0)
		return s
	case "set-back":
		c.Jump(0, -d)
		return s
	case "paid": // a leader has written all jobs
		c.Node(0).HSet("{p}", "o", "\nj:x\t0000000000000\n")
		return s
	}
	verb, refused := strings.CutPrefix(words[0], "!")
	args, owes := []any{10_000, "", verb}, ""
	for n, word := range words[1:] {
		switch {
		case word == "x":
			owes += "j:x\t0000000000000\n"
		case word == "new":
			owes += "new\n"
		case n > 0 && verb != "swap" && verb != "enter":
			owes += string(in(word)) + "\n"
		case strings.Contains(word, ":"):
			args = append(args, string(in(word)))
		default:
			args = append(args, strings.Repeat(word, 16))
		}
	}
	switch verb {
	case "take", "join", "force":
		args = append(args, owes)
	case "enter":
		args = append(args, "") // no list, unless one was given before it
	}
	raw, err := c.Raw()[0].Eval(t.Context(), guard.Include(source), []string{"{p}"}, args...).Result()
	want.NoError(t, err)
	parsed, err := quorum.ParseReply(raw)
	want.NoError(t, err)
	got, err := readServer(&parsed)
	want.NoError(t, err)
	if got.done == refused {
		t.Errorf("%q: done %t", step, got.done)
	}
	return got.Server
}

// What a server does in its state, and remembers afterwards.
func TestScript(t *testing.T) {
	const serving = "enter a; take 1:abc; join 1:abc; "
	const owing = serving + "sleep 11s; take 2:abd; join 2:abd 1:abc x; sleep 11s; "
	for name, of := range map[string]struct{ steps, want string }{
		"one without an id joins no list":    {"!take 1:abc; !join 1:abc", "- joined none"},
		"it keeps its id":                    {"enter a; enter b", "a joined none"},
		"a fresh one takes a list at once":   {"enter a; take 1:abc", "a joined none taken 1:abc"},
		"only one that it is in":             {"enter a; !take 1:bcd", "a joined none"},
		"it joins what it has taken":         {serving, "a joined 1:abc"},
		"and nothing else":                   {"enter a; take 1:abc; !join 1:abd", "a joined none taken 1:abc"},
		"twice is once":                      {serving + "take 1:abc; join 1:abc", "a joined 1:abc"},
		"in use, it takes no other list":     {serving + "!take 2:abd", "a joined 1:abc"},
		"until a second after the longest":   {serving + "sleep 10999ms; !take 2:abd", "a joined 1:abc"},
		"unused, it does":                    {serving + "sleep 11s; take 2:abd", "a joined 1:abc taken 2:abd"},
		"not with a minority of its list":    {serving + "sleep 11s; !take 2:ade", "a joined 1:abc"},
		"but at the same addresses":          {"enter a; take 1:abc@; join 1:abc@; sleep 11s; take 2:ade@", "a joined 1:abc@ taken 2:ade@"},
		"not of an earlier turn":             {serving + "sleep 11s; !take 1:abd; !take 0:abd", "a joined 1:abc"},
		"nor of the turn that it has taken":  {"enter a; take 2:abc; !take 2:abd", "a joined none taken 2:abc"},
		"not with a minority of one taken":   {serving + "sleep 11s; take 2:abd; !take 3:ace", "a joined 1:abc taken 2:abd"},
		"with a majority of both":            {serving + "sleep 11s; take 2:abd; take 3:abe", "a joined 1:abc taken 2:abd taken 3:abe"},
		"a join forgets those before":        {serving + "sleep 11s; take 2:abd; take 3:abe; join 3:abe", "a joined 3:abe"},
		"no join of one before":              {serving + "sleep 11s; take 2:abd; take 3:abe; !join 2:abd; !join 1:abc", "a joined 1:abc taken 2:abd taken 3:abe"},
		"one that restarted is in use":       {serving + "sleep 1h; restart; !take 2:abd; sleep 10s; !take 2:abd; sleep 1s; take 2:abd", "a joined 1:abc taken 2:abd"},
		"and one whose clock is behind":      {serving + "sleep 1h; set-back 2h; !take 2:abd; sleep 11s; take 2:abd", "a joined 1:abc taken 2:abd"},
		"it swaps in use":                    {serving + "swap 1:abc 2:abd", "a joined 2:abd"},
		"to the same servers, later":         {serving + "swap 1:abc 2:abc", "a joined 2:abc"},
		"twice":                              {serving + "swap 1:abc 2:abd; swap 1:abc 2:abd", "a joined 2:abd"},
		"not two at a time":                  {serving + "!swap 1:abc 2:ade", "a joined 1:abc"},
		"not to more, or fewer":              {serving + "!swap 1:abc 2:abcd; !swap 1:abc 2:ab", "a joined 1:abc"},
		"not to an earlier list":             {serving + "!swap 1:abc 1:abd", "a joined 1:abc"},
		"not to one without it":              {serving + "!swap 1:abc 2:bcd", "a joined 1:abc"},
		"not from another one":               {serving + "!swap 1:abe 2:abd", "a joined 1:abc"},
		"not if it has taken one":            {serving + "sleep 11s; take 2:abd; !swap 1:abc 3:abe", "a joined 1:abc taken 2:abd"},
		"a person decides":                   {serving + "sleep 11s; take 2:abd; force 1:ae", "a joined 1:ae"},
		"it forgets an older list":           {serving + "enter d 1:abc", "d joined none"},
		"and joins again":                    {serving + "enter d 1:abc; take 2:bcd; join 2:bcd", "d joined 2:bcd"},
		"not if it is in another one by now": {serving + "swap 1:abc 2:abd; enter e 1:abc", "a joined 2:abd"},
		"it owes to the list before":         {owing + "!take 3:ade", "a joined 2:abd owes x to 1:abc"},
		"with a majority of both lists":      {owing + "take 3:abe", "a joined 2:abd taken 3:abe owes x to 1:abc"},
		"until a leader has led":             {owing + "paid; take 3:ade", "a joined 2:abd taken 3:ade"},
		"for a month":                        {owing + "sleep 719h; !take 3:ade", "a joined 2:abd owes x to 1:abc"},
		"and then no more":                   {owing + "sleep 720h; take 3:ade", "a joined 2:abd taken 3:ade owes x"},
		"a fresh one owes too":               {"enter d; take 2:abd 1:abc x; !take 3:bde", "d joined none taken 2:abd owes x to 1:abc"},
		"what it has learned of all":         {"enter d; take 2:abd 1:abc x; take 3:abd 1:abe; !take 4:bcd", "d joined none taken 2:abd taken 3:abd owes x to 1:abc 1:abe"},
		"not if a person decides":            {owing + "force 3:ade 1:abc x; sleep 11s; take 4:ade", "a joined 3:ade taken 4:ade owes x"},
		"nor when it has forgotten its list": {owing + "enter e 2:abd", "e joined none"},
		"nor if it has taken one":            {serving + "sleep 11s; take 2:abd; enter e 1:abc", "a joined 1:abc taken 2:abd"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := nodetest.Start(1)
				defer c.Close()
				for one := range strings.SplitSeq(strings.TrimSuffix(of.steps, "; "), "; ") {
					step(t, c, one)
				}
				s := step(t, c, "look")
				if got := remembers(&s); got != of.want {
					t.Errorf("it remembers %q, want %q", got, of.want)
				}
			})
		})
	}
}

func remembers(s *Server) string {
	short := func(l List) string {
		if l != "" && l.part(2) != "" {
			return name(l) + "@"
		}
		return name(l)
	}
	text := "-"
	if s.ID != "" {
		text = s.ID[:1]
	}
	text += " joined " + short(s.Joined)
	for _, l := range s.Taken {
		text += " taken " + short(l)
	}
	if x := s.owing(); x != "" {
		text += " owes " + x
		for i, owed := range s.Owes {
			if l, err := parseList(owed); err == nil {
				text += map[bool]string{true: " to", false: ""}[i == 0] + " " + short(l)
			}
		}
	}
	return text
}

// A server that had nothing to lose when it took its first list keeps that, with the start of its guard.
func TestScript_New(t *testing.T) {
	const takes = "enter a; take 2:abd 1:bcd x new; "
	for name, of := range map[string]struct {
		steps string
		isNew bool
	}{
		"it joins":                    {takes + "join 2:abd 1:bcd x", true},
		"it joins another list later": {takes + "join 2:abd 1:bcd x; sleep 11s; take 3:abc; join 3:abc 2:abd x", true},
		"it swaps":                    {takes + "join 2:abd 1:bcd x; swap 2:abd 3:abe", true},
		"it takes another list, and joins that one": {takes + "take 3:abd 2:abd x; join 3:abd 2:abd x", false},
		"it takes another list as a new one":        {takes + "take 3:abd 2:abd x new; join 3:abd 2:abd x", true},
		"it was in a list":                          {"enter a; take 1:abc; join 1:abc; sleep 11s; take 2:abd 1:bcd x new; join 2:abd 1:bcd x", false},
		"it takes the place of another one":         {"enter a; take 2:abd 1:bcd x; join 2:abd 1:bcd x", false},
		"it forgets its list":                       {takes + "join 2:abd 1:bcd x; enter d 2:abd; take 3:bcd 2:abd x; join 3:bcd 2:abd x", false},
		"a person decides":                          {takes + "join 2:abd 1:bcd x; force 4:abd 1:bcd x", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := nodetest.Start(1)
				defer c.Close()
				began := time.Now().UnixMicro() // no row sleeps before the guard starts
				for one := range strings.SplitSeq(of.steps, "; ") {
					step(t, c, one)
				}
				line, owes := fmt.Sprintf("\nnew %016d\n", began), c.Node(0).HGet("{p}", "o")
				if got := strings.Contains(owes, line); got != of.isNew || strings.Contains(owes, "new") != got || !strings.Contains(owes, "\nj:x\t0") {
					t.Errorf("new is %t, it owes %q", got, owes)
				}
			})
		})
	}
}

// The guard starts when the server joins for the first time, and has the label of the list that the server serves.
func TestScript_Guard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := nodetest.Start(1)
		defer c.Close()
		var began time.Time
		for _, of := range []struct {
			step   string
			starts bool
			serves List
		}{
			{"enter a", false, ""},
			{"take 1:abc", false, ""},
			{"join 1:abc", true, in("1:abc")},
			{"swap 1:abc 2:abd", false, in("2:abd")},
			{"sleep 11s", false, in("2:abd")},
			{"take 3:abe", false, ""},
			{"join 3:abe", false, in("3:abe")}, // and its numbers continue above the clock
			{"sleep 1s", false, in("3:abe")},
			{"force 4:abf", true, in("4:abf")},
		} {
			step(t, c, of.step)
			if high := c.Node(0).HGet("{p}", "h"); of.step == "join 3:abe" && high != fmt.Sprintf("%016d", time.Now().UnixMicro()) {
				t.Errorf("%q: the largest number is %q", of.step, high)
			}
			if of.starts {
				began = time.Now()
			}
			g, err := guard.Parse(c.Node(0).HGet("{p}", "g"))
			if began.IsZero() {
				if err == nil {
					t.Errorf("%q: there is a guard: %+v", of.step, g)
				}
				continue
			}
			want.NoError(t, err)
			label := strings.Repeat("-", 16)
			if of.serves != "" {
				label = of.serves.Label()
			}
			if g.Label != label || !g.Since.Equal(began) || g.Until.Sub(g.Since) != g.Longest || g.Longest != 10*time.Second {
				t.Errorf("%q: the guard is %+v, want one since %v for %s", of.step, g, began, label)
			}
		}
	})
}
