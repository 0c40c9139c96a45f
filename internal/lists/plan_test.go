package lists

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

const (
	here  = "1111111111111111" // addresses of the process
	there = "2222222222222222"
)

// list returns a list of servers whose ids are given by a letter each.
func list(turn int, where, letters string) List {
	var ids []string
	for _, letter := range letters {
		ids = append(ids, strings.Repeat(string(letter), 16))
	}
	return newList(turn, where, ids)
}

// name returns a short form of a list: its turn and the letters of its servers.
func name(l List) string {
	if l == "" {
		return "none"
	}
	text := fmt.Sprintf("%d:", l.Turn())
	for _, id := range l.IDs() {
		text += id[:1]
	}
	return text
}

func text(p Plan) string {
	text := "uses " + name(p.Use)
	if p.Verb != "" {
		text += fmt.Sprintf(", %s %s on %v", p.Verb, name(p.List), p.Nodes)
	}
	if p.From != "" {
		text += " from " + name(p.From)
	}
	if p.Verb != "" && p.Owes != "" {
		text += " owes"
		for owed := range strings.SplitSeq(strings.TrimSpace(p.Owes), "\n") {
			if l, err := parseList(owed); err == nil {
				owed = name(l)
			}
			text += " " + owed
		}
	}
	return strings.Replace(text, " none on", " on", 1)
}

// What a process does next in each situation.
func TestNext(t *testing.T) {
	entered := func(letter string) Heard { return Heard{Server: Server{ID: strings.Repeat(letter, 16)}} }
	joined := func(letter string, l List, taken ...List) Heard {
		h := entered(letter)
		h.Joined, h.Taken = l, taken
		return h
	}
	claimed := func(letter string, taken ...List) Heard { return joined(letter, "", taken...) }
	inUse := func(h Heard) Heard { h.InUse = time.Second; return h }
	fresh, silent := Heard{}, Heard{Err: errors.New("down")}
	owing := func(h Heard, lines ...string) Heard { h.Owes = lines; return h }
	const paid, owed = "j:x\t0000000000000", "j:x\t0000000000007"
	one, abc, abd := list(1, there, "a"), list(1, here, "abc"), list(2, here, "abd")
	moved := list(1, there, "abc")

	for name, of := range map[string]struct {
		used  List
		heard []Heard
		want  string
		says  string // in a problem; empty: there is none
	}{
		// Without a list.
		"all are fresh":                        {"", []Heard{fresh, fresh, fresh}, "uses none, enter on [0 1 2]", ""},
		"all have an id":                       {"", []Heard{entered("a"), entered("b"), entered("c")}, "uses none, take 1:abc on [0 1 2]", ""},
		"all have taken it":                    {"", []Heard{claimed("a", abc), claimed("b", abc), claimed("c", abc)}, "uses none, join 1:abc on [0 1 2]", ""},
		"a process has stopped after one join": {"", []Heard{joined("a", abc), claimed("b", abc), claimed("c", abc)}, "uses none, join 1:abc on [1 2]", ""},
		"one is not heard, the others are new": {"", []Heard{entered("a"), entered("b"), silent}, "uses none", "all nodes must be heard once"},
		"one is not heard, the others serve":   {"", []Heard{joined("a", abc), joined("b", abc), silent}, "uses 1:abc", "down"},
		"two are not heard":                    {"", []Heard{joined("a", abc), silent, silent}, "uses none", "all nodes must be heard once"},
		"another server is heard":              {"", []Heard{inUse(joined("a", moved)), inUse(joined("b", moved)), entered("d")}, "uses none", "the nodes are in use with a list of 3"},
		"its list is unused":                   {"", []Heard{joined("a", moved), joined("b", moved), entered("d")}, "uses none, take 2:abd on [2]", ""},
		"the fresh one has taken it":           {"", []Heard{joined("a", moved), joined("b", moved), claimed("d", abd)}, "uses none, take 2:abd on [0]", ""},
		"it was made at these addresses":       {"", []Heard{joined("a", abc), joined("b", abc), entered("d")}, "uses 1:abc, take 2:abd on [2]", ""},
		"so it was, and one is down": {
			"",
			[]Heard{joined("a", list(1, here, "abcde")), joined("b", list(1, here, "abcde")), joined("c", list(1, here, "abcde")), fresh, silent},
			"uses 1:abcde", "all nodes must be heard before it replaces",
		},
		"and the first one":           {"", []Heard{joined("a", abc, abd), joined("b", abc), claimed("d", abd)}, "uses none, take 2:abd on [1]", ""},
		"and the second one":          {"", []Heard{joined("a", abc, abd), joined("b", abc, abd), claimed("d", abd)}, "uses none, join 2:abd on [0 1 2]", ""},
		"from one to three":           {"", []Heard{joined("a", one), entered("b"), entered("c")}, "uses none, take 2:abc on [1 2]", ""},
		"from one to three, in use":   {"", []Heard{inUse(joined("a", one)), entered("b"), entered("c")}, "uses none", "in use with a list of one"},
		"no majority of the old list": {"", []Heard{joined("a", list(1, there, "abc")), entered("d"), entered("e")}, "uses none", "redlockctl nodes --join"},
		"the others lost their data":  {"", []Heard{joined("a", abc), entered("d"), entered("e")}, "uses none, take 2:ade on [1 2]", ""},
		"a node of another service":   {"", []Heard{joined("a", abc), joined("b", abc), inUse(joined("d", one))}, "uses none", "in use with a list of one"},
		"a fresh one learns what is owed": {
			"", []Heard{owing(joined("a", moved), paid), owing(joined("b", moved), string(one), owed), entered("d")},
			"uses none, take 2:abd on [2] owes 1:abc 1:a " + paid + " new", "",
		},
		"and all that join": {
			"", []Heard{owing(joined("a", moved, abd), paid), joined("b", moved, abd), owing(claimed("d", abd), string(moved), owed)},
			"uses none, join 2:abd on [0 1 2] owes 1:abc " + paid, "",
		},
		"nobody has led": {
			"", []Heard{joined("a", moved), owing(joined("b", moved), string(list(1, there, "bef")), owed), claimed("d", abd)},
			"uses none", "nobody has led election \"x\" since the list was a list of 3",
		},
		"two half-begun lists": {"", []Heard{claimed("a", abc), claimed("b", list(1, there, "abc")), entered("c")}, "uses none, take 2:abc on [2]", ""},

		// With a list.
		"all is well":             {abc, []Heard{joined("a", abc), joined("b", abc), joined("c", abc)}, "uses 1:abc", ""},
		"one has not joined yet":  {abc, []Heard{joined("a", abc), joined("b", abc), claimed("c", abc)}, "uses 1:abc, join 1:abc on [2]", ""},
		"one lost its data":       {abc, []Heard{joined("a", abc), joined("b", abc), fresh}, "uses 1:abc, enter on [2]", ""},
		"one has older data":      {abd, []Heard{joined("a", abd), joined("b", abd), joined("c", abc)}, "uses 2:abd, enter on [2]", ""},
		"the fresh one has an id": {abc, []Heard{joined("a", abc), joined("b", abc), entered("d")}, "uses 1:abc, take 2:abd on [2]", ""},
		"the fresh one comes in":  {abc, []Heard{inUse(joined("a", abc)), inUse(joined("b", abc)), claimed("d", abd)}, "uses 1:abc, swap 2:abd on [0 1] from 1:abc", ""},
		"the others have swapped": {abc, []Heard{joined("a", abd), joined("b", abd), claimed("d", abd)}, "uses 2:abd, join 2:abd on [2]", ""},
		"it owes what the others owe": {
			abc, []Heard{owing(joined("a", abd), owed), owing(joined("b", abd), paid, "j:y\t0000000000000"), claimed("d", abd)},
			"uses 2:abd, join 2:abd on [2] owes " + owed, "",
		},
		"and for what it knows itself": {
			abc, []Heard{owing(joined("a", abd), paid), owing(joined("b", abd), paid), owing(joined("d", moved, abd), paid)},
			"uses 2:abd, join 2:abd on [2] owes 1:abc " + paid, "",
		},
		"too few have swapped":           {abd, []Heard{joined("a", abd), silent, claimed("d", abd)}, "uses 2:abd", "waiting until all nodes"},
		"it is not known who is missing": {abc, []Heard{joined("a", abc), silent, entered("d")}, "uses 1:abc", "all nodes must be heard before it replaces"},
		"a server of another list":       {abc, []Heard{joined("a", abc), joined("b", abc), joined("d", one)}, "uses 1:abc", "in use with another list"},
		"left behind by a swap":          {abd, []Heard{inUse(joined("a", abc)), joined("b", abd), joined("d", abd)}, "uses 2:abd, swap 2:abd on [0] from 1:abc", ""},
		"left behind by two":             {list(3, here, "ade"), []Heard{joined("a", abc), joined("d", list(3, here, "ade")), joined("e", list(3, here, "ade"))}, "uses 3:ade, enter on [0]", ""},
		"left behind by two, elsewhere": {
			list(3, here, "abcde"),
			[]Heard{
				joined("a", list(1, there, "abcf0")), joined("b", list(3, here, "abcde")), joined("c", list(3, here, "abcde")),
				joined("d", list(3, here, "abcde")), joined("e", list(3, here, "abcde")),
			},
			"uses 3:abcde, take 3:abcde on [0]", "",
		},
		"left behind by two, elsewhere, in use": {
			list(3, here, "abcde"),
			[]Heard{
				inUse(joined("a", list(1, there, "abcf0"))), joined("b", list(3, here, "abcde")), joined("c", list(3, here, "abcde")),
				joined("d", list(3, here, "abcde")), joined("e", list(3, here, "abcde")),
			},
			"uses 3:abcde", "in use with a list of 5",
		},
		"claimed by a list that never came":   {abc, []Heard{joined("a", abc, list(2, there, "ade")), joined("b", abc), joined("c", abc)}, "uses 1:abc, swap 3:abc on [1 2] from 1:abc", ""},
		"a majority has gone to another list": {abc, []Heard{joined("a", list(2, there, "abcde")), joined("b", list(2, there, "abcde")), joined("c", abc)}, "uses none, take 3:abc on [0]", ""},
		"all have data from before they joined": {
			abd, []Heard{joined("a", list(1, here, "aef"), abd), claimed("b", abd), claimed("d", abd)}, "uses none, join 2:abd on [0 1 2]", "",
		},
		"two of three have such data": {
			abd, []Heard{joined("a", list(1, here, "aef"), abd), joined("b", abd), claimed("d", abd)}, "uses none, join 2:abd on [0 2]", "",
		},
		"one has older data, one a later list": {
			abd, []Heard{joined("a", list(3, here, "ade")), inUse(joined("d", abd)), entered("f")}, "uses 2:abd, take 4:adf on [2]", "meanwhile",
		},
		"all have lost their data":    {abc, []Heard{fresh, fresh, fresh}, "uses none, enter on [0 1 2]", ""},
		"two addresses of one server": {abc, []Heard{joined("a", abc), joined("b", abc), joined("b", abc)}, "uses 1:abc", "the same server"},
		"and the others have gone on": {abc, []Heard{joined("a", abc, abd), joined("b", abc, abd), joined("c", list(3, here, "abc"))}, "uses none, take 3:abc on [0]", ""},
		"a request to swap was lost":  {abc, []Heard{joined("a", abd), inUse(joined("b", abc)), claimed("d", abd)}, "uses 1:abc, swap 2:abd on [1] from 1:abc", "has changed to another list meanwhile"},
		"nobody serves it any more":   {abd, []Heard{joined("a", abc, abd), joined("b", list(3, here, "abe")), claimed("e", list(3, here, "abe"))}, "uses none, take 3:abe on [0]", ""},
		"two lost their data, one after the other": {
			list(1, here, "abcde"),
			[]Heard{joined("a", list(1, here, "abcde")), joined("b", list(1, here, "abcde")), joined("c", list(1, here, "abcde")), entered("f"), entered("0")},
			"uses 1:abcde, take 2:0abce on [4]", "",
		},
	} {
		p := next(here, of.used, of.heard)
		if got := text(p); got != of.want {
			t.Errorf("%s: %s, want %s", name, got, of.want)
		}
		if err := errors.Join(p.Problems...); of.says == "" && err != nil || !strings.Contains(fmt.Sprint(err), of.says) {
			t.Errorf("%s: %v, want %q", name, err, of.says)
		}
	}
}
