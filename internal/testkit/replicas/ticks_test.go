//go:build unix

package replicas_test

import (
	"slices"
	"testing"

	"github.com/redlockfx/redlockfx/internal/testkit/replicas"
)

func TestJudge_FindsWhatIsMissingAndWhatIsRepeated(t *testing.T) {
	counts := map[string]int{"a@5000": 1, "a@6000": 2, "a@8000": 1, "b@8000": 1, "b@9000": 1, "a@10000": 1}
	ticks, missing, repeated, err := replicas.Judge(counts, 9)
	if err != nil || ticks != 7 || missing != 2 || !slices.Equal(repeated, []string{"a@6000"}) {
		t.Errorf("%d ticks, %d missing, %v repeated, %v", ticks, missing, repeated, err)
	}
	for _, key := range []string{"a", "a@", "a@m5", "a@5001"} {
		if _, _, _, err := replicas.Judge(map[string]int{key: 1}, 9); err == nil {
			t.Errorf("%q is taken for a key", key)
		}
	}
}
