package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// exprs returns the queries of the dashboard, and the alerts as they are.
func exprs(t *testing.T) (queries []string, alerts string) {
	t.Helper()
	rules, err := os.ReadFile("../prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../grafana/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries = append(queries, strings.ReplaceAll(target.Expr, "$__rate_interval", "1m"))
		}
	}
	if len(queries) < 10 {
		t.Fatalf("only %d queries", len(queries))
	}
	return queries, string(rules)
}

// The series in the tests of the alerts are made up, so nothing else would notice another name of a metric or label. All replicas are cut off for a while, because some series begin only then.
func TestMetrics_HaveEveryNameOfTheAlertsAndTheDashboard(t *testing.T) {
	queries, alerts := exprs(t)
	names := regexp.MustCompile(`redlock_[a-z_]+`).FindAllString(strings.Join(queries, "\n")+alerts, -1)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	cut, heal := make(chan time.Time), make(chan time.Time)
	go func() { ended <- serveEmbedded(ctx, listener, cut, heal) }() // ends with stop; the test waits for it
	outage := sync.OnceFunc(func() { close(cut); time.AfterFunc(3*ttl, func() { close(heal) }) })
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for end := time.Now().Add(2 * time.Minute); len(names) > 0; <-again.C {
		response, err := client.Get("http://" + listener.Addr().String() + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close() // it was read to its end
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("redlock_job_runs_total")) {
			outage()
		}
		names = slices.DeleteFunc(names, func(name string) bool {
			return regexp.MustCompile(`\b` + name + `\b`).Match(text)
		})
		if time.Now().After(end) {
			t.Errorf("no series has %q:\n%s", names, text)
			break
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestDashboard_EveryQueryCanBeParsed(t *testing.T) {
	queries, _ := exprs(t)
	rules := "groups:\n- name: dashboard\n  rules:\n"
	for i, query := range queries {
		rules += fmt.Sprintf("  - {record: 'query%d', expr: %q}\n", i, query)
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "promtool", "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("promtool (from Debian's prometheus): %v\n%s", err, out)
	}
}
