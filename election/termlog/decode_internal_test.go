package termlog

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

func TestDecodeTerm_RefusesGarbage(t *testing.T) {
	for name, garbage := range map[string]string{
		"empty":                        "",
		"no time":                      "7 a b",
		"no replica":                   "7 1700000000000000",
		"a token of zero":              "0 1700000000000000 a",
		"a token that locks never use": "9007199254740992 1700000000000000 a",
		"a token beyond 64 bits":       "99999999999999999999 1700000000000000 a",
		"a time that is none":          "7 9007199254740992 a",
		"an end that is none":          "7 1700000000000000+ a",
		"an end before the start":      "7 1700000000000000+-5. a",
		"an end that is too late":      "7 1700000000000000+9007199254740000. a",
		"a replica that is too long":   "7 1700000000000000 " + strings.Repeat("x", 201),
	} {
		if record, err := decodeTerm(garbage); err == nil {
			t.Errorf("%s: taken for %+v", name, record)
		}
	}
}

func TestReadTerms_RefusesAReplyOfAnotherShape(t *testing.T) {
	tooMany := []any{"1 2 -"}
	for i := range int64(maxTerms + 1) {
		tooMany = append(tooMany, fmt.Sprint(1000-i, " 1700000000000000 a"))
	}
	for name, reply := range map[string][]any{"too many": tooMany, "a number": {"1 2 -", int64(7)}} {
		r, err := quorum.ParseReply(reply)
		want.NoError(t, err)
		if records, err := readTerms(&r); err == nil {
			t.Errorf("%s: taken for %d records", name, len(records))
		}
	}
}

func TestReadTerms_TakesOneRecordOfATerm(t *testing.T) {
	r, err := quorum.ParseReply([]any{"1 2 -", "7 1700000000000000 a", "7 1700000000000000 b"})
	want.NoError(t, err)
	if records, err := readTerms(&r); err != nil || len(records) != 1 || records[0].Replica != "a" {
		t.Errorf("got %+v, %v", records, err)
	}
}

// Whatever a node returns as terms is decoded without harm.
func FuzzTerms(f *testing.F) {
	f.Add("7 1700000000000000 pod", "8 1 a b")
	f.Add("9007199254740991 9007199254740991 x", "")
	f.Add("7 1700000000000000+30000000 pod", "8 1700000000000000+1. pod")
	f.Fuzz(func(t *testing.T, a, b string) {
		r, err := quorum.ParseReply([]any{"1 2 -", a, b})
		want.NoError(t, err)
		records, err := readTerms(&r)
		if err != nil {
			return
		}
		if _, err := json.Marshal(records); err != nil || len(records) == 0 {
			t.Errorf("%+v: %v", records, err)
		}
	})
}
