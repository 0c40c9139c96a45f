package election

import (
	"encoding/json"
	"testing"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// What a node says of terms is read, whatever it is.
func FuzzTerms(f *testing.F) {
	f.Add("7 1700000000000000 pod", "8 1 a b")
	f.Add("9007199254740991 9007199254740991 x", "")
	f.Fuzz(func(t *testing.T, a, b string) {
		r, err := quorum.ParseReply([]any{"1 2 -", a, b})
		if err != nil {
			t.Fatal(err)
		}
		records, err := readTerms(&r)
		if err != nil {
			return
		}
		if _, err := json.Marshal(records); err != nil || len(records) == 0 {
			t.Errorf("%+v: %v", records, err)
		}
	})
}
