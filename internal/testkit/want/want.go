// Package want has the assertions that most tests share.
package want

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// NoError ends the test unless all errors are nil.
func NoError(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// Err ends the test unless [errors.Is] is true for err and each of the targets.
func Err(t testing.TB, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Fatalf("got error %v, want one that is %v", err, target)
		}
	}
}

// Text fails the test unless the text of err has all parts. A nil error has no text.
func Text(t testing.TB, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got error %q, want %q in it", fmt.Sprint(err), part)
		}
	}
}

// Parts fails the test unless text has all parts. what describes the text.
func Parts(t testing.TB, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: got %q, want %q in it", what, text, part)
		}
	}
}
