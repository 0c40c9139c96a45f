package replay_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/replay"
)

const (
	hash    = "{p}"
	longest = 10 * time.Second
	a, b    = "aaaaaaaaaaaaaaaaaaaaaaaaaa:1:a", "bbbbbbbbbbbbbbbbbbbbbbbbbb:1:b"
)

// at returns an instant of a node's clock.
func at(s float64) time.Time { return time.UnixMicro(int64(s * 1e6)) }

func record(number int, deadline float64, value string) string {
	return fmt.Sprintf("%016d %016d %016d %s", number, 0, at(deadline).UnixMicro(), value)
}

func guardOf(server string, since float64) string {
	start := at(since)
	return fmt.Sprintf("3 %s %016d %016d %012d %s %013d", strings.Repeat(server, 40), start.UnixMicro(), start.Add(longest).UnixMicro(),
		longest.Milliseconds(), strings.Repeat("-", 16), 0)
}

// serves is what a server of a list remembers.
func serves(id int, list string) string { return fmt.Sprintf("id%d %s", id, list) }

const (
	first  = "1111111111111111:1:id0,id1,id2"
	second = "2222222222222222:2:id0,id1,id3"
)

// step is a write of a node, or a decision if there is an owner.
type step struct {
	node        int
	at          float64
	field, text string
	owner       string
	token       uint64
}

// began is how each trace begins: three servers join a list, and each starts its guard.
var began = []step{
	{0, 100, "g", guardOf("0", 100), "", 0}, {1, 100, "g", guardOf("1", 100), "", 0}, {2, 100, "g", guardOf("2", 100), "", 0},
	{0, 100, "s", serves(0, first), "", 0}, {1, 100, "s", serves(1, first), "", 0}, {2, 100, "s", serves(2, first), "", 0},
}

// Every rule is broken by one trace, whose steps are allowed but for the last one.
func TestChecker_NamesTheFirstWrongStep(t *testing.T) {
	given := []step{{0, 111, "n:x", record(7, 116, a), "", 0}, {1, 111, "n:x", record(7, 116, a), "", 0}, {owner: "a", token: 7}}
	for _, c := range []struct {
		wrong replay.Rule
		steps []step
	}{
		{replay.Guard, []step{{0, 105, "n:x", record(7, 110, a), "", 0}}},
		{replay.Restart, []step{{0, 120, "g", guardOf("3", 119), "", 0}}},
		{replay.Restart, []step{{0, 120, "g", guardOf("0", 119), "", 0}}},
		{replay.Free, append(given, step{0, 112, "n:x", record(8, 117, b), "", 0})},
		{replay.Grow, append(given, step{0, 117, "n:x", record(6, 122, b), "", 0})},
		{replay.End, append(given, step{0, 112, "n:x", record(7, 113, ""), "", 0})},
		{replay.Listed, []step{{0, 110, "s", serves(0, first+" "+second), "", 0}, {0, 111, "n:x", record(7, 116, a), "", 0}}},
		{replay.Majority, append([]step{{1, 110, "s", serves(1, second), "", 0}}, given...)},
		{replay.Majority, []step{{0, 111, "n:x", record(7, 116, a), "", 0}, {owner: "a", token: 7}}},
		{replay.Raised, []step{{0, 111, "n:x", record(8, 116, a), "", 0}, {1, 111, "n:x", record(7, 116, a), "", 0}, {owner: "a", token: 8}}},
		{replay.Tokens, append(given,
			step{0, 112, "n:x", record(7, 112, ""), "", 0}, step{1, 112, "n:x", record(7, 112, ""), "", 0},
			step{0, 113, "n:x", record(7, 118, b), "", 0}, step{1, 113, "n:x", record(7, 118, b), "", 0}, step{owner: "b", token: 7})},
	} {
		checker := replay.New(hash, 3, longest)
		steps := append(slices.Clip(began), c.steps...)
		for i, s := range steps {
			if err := checker.Err(); err != nil {
				t.Errorf("%s: step %d of %d: %v", c.wrong, i, len(steps), err)
			}
			if s.owner != "" {
				checker.Granted("x", s.owner, s.token)
			} else {
				checker.Command(s.node, at(s.at), "HSET", hash, s.field, s.text)
			}
		}
		if err := checker.Err(); err == nil || !strings.Contains(err.Error(), "rule "+string(c.wrong)+":") {
			t.Errorf("%s is broken, and the checker says: %v", c.wrong, err)
		}
	}
}

func TestChecker_KnowsAServerThatLostItsData(t *testing.T) {
	checker := replay.New(hash, 1, longest)
	const alone = "1111111111111111:1:id0"
	checker.Command(0, at(100), "HSET", hash, "g", guardOf("0", 100), "s", serves(0, alone))
	checker.Command(0, at(111), "HSET", hash, "n:x", record(7, 116, a))
	checker.Became(0, at(112), map[string]string{})
	checker.Command(0, at(113), "HSET", hash, "g", guardOf("0", 113), "s", serves(0, alone))
	checker.Command(0, at(124), "HSET", hash, "n:x", record(200, 129, b))
	if err := checker.Err(); err != nil {
		t.Error(err)
	}
	checker.Became(0, at(125), map[string]string{"n:x": record(7, 116, a), "g": guardOf("0", 113), "s": serves(0, alone)})
	checker.Command(0, at(126), "HSET", hash, "g", guardOf("0", 113)) // it changes its list
	checker.Command(0, at(126), "HSET", hash, "n:x", record(300, 131, b))
	if err := checker.Err(); err == nil || !strings.Contains(err.Error(), "rule guard:") {
		t.Errorf("it gave a lock without a guard: %v", err)
	}
}
