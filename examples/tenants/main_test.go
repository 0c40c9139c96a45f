package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestMain is also the main function of the processes.
func TestMain(m *testing.M) {
	if name := os.Getenv(podVariable); name != "" {
		if err := bePod(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestTenants_EndsWell(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), log.New(&out, "", 0)); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, line := range []string{
		`1 of 3 jobs are refused, .*"tenants/acme"`, `pod-\d  umbrella for `, `4\. pod-\d is killed`,
		`\d+ ticks have run on 2 processes in turn, and none of them twice`,
	} {
		if !regexp.MustCompile(line).Match(out.Bytes()) {
			t.Errorf("there is no line %q in\n%s", line, &out)
		}
	}
}

func TestTenants_EndsWhenInterrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	var out bytes.Buffer
	if err := run(ctx, log.New(&out, "", 0)); err == nil || err.Error() != "interrupted" {
		t.Errorf("got %v", err)
	}
}

func TestCheck_FindsWhatIsBroken(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := story{out: log.New(&bytes.Buffer{}, "", 0), history: newHistory(log.New(&bytes.Buffer{}, "", 0))}
	for _, e := range []event{{"pod-1", "acme", at}, {"pod-2", "acme", at}, {"pod-2", "initech", at.Add(10 * time.Second)}} {
		s.history.add(e)
	}
	err := s.check("pod-3", at, at.Add(20*time.Second))
	for _, part := range []string{"of acme ran on pod-1 and on pod-2", "of initech ran, which had no row", "want pod-3 and another one"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("no %q in %v", part, err)
		}
	}
}
