package rivertick_test

import (
	"strings"
	"testing"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/redlockfx/redlockfx/adapters/rivertick"
)

// The tests that need a database are in fenced/sqltest/rivertick.

func TestJob_RefusesWhatCannotWork(t *testing.T) {
	for _, metadata := range []string{"7", "null", "{", `{"redlockfx_key":"x"}`} {
		_, err := rivertick.Job(nil, nil, nil, &river.InsertOpts{Metadata: []byte(metadata)})
		for _, problem := range []string{"database is nil", "client is nil", "arguments is nil", "metadata"} {
			if err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("nothing about %q: %v", problem, err)
			}
		}
	}
	if _, err := rivertick.Job(nil, nil, nil, nil); err == nil || strings.Contains(err.Error(), "metadata") {
		t.Errorf("no options are taken for bad ones: %v", err)
	}
}

func TestKey_IsThatOfTheRunOnly(t *testing.T) {
	for metadata, want := range map[string]string{
		`{"redlockfx_key":"report@5","a":1}`: "report@5", `{"a":1}`: "", `{"redlockfx_key":7}`: "", "": "", "null": "", "{": "",
	} {
		key, ok := rivertick.Key(&rivertype.JobRow{Metadata: []byte(metadata)})
		if key != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", metadata, key, ok)
		}
	}
}
