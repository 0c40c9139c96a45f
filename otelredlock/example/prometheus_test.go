package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const waitLimit = 2 * time.Minute // takes ten seconds on an idle machine

// server is a Prometheus process.
type server struct {
	url string
	log *bytes.Buffer // read it only when the process has ended
}

// startPrometheus starts a Prometheus that scrapes target and evaluates rules.
func startPrometheus(t *testing.T, target, rules string) *server {
	t.Helper()
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Fatalf("install Debian's prometheus: %v", err)
	}
	dir := t.TempDir()
	config := fmt.Sprintf("global: {scrape_interval: 500ms, evaluation_interval: 500ms}\n"+
		"rule_files: [rules.yaml]\n"+
		"scrape_configs: [{job_name: example, static_configs: [{targets: [%q]}]}]\n", target)
	for name, text := range map[string]string{"prometheus.yaml": config, "rules.yaml": rules} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	addr := freeAddr(t)
	s := &server{url: "http://" + addr, log: &bytes.Buffer{}}
	cmd := exec.Command(path, "--config.file", filepath.Join(dir, "prometheus.yaml"),
		"--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", addr)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		http.DefaultClient.CloseIdleConnections()
		if t.Failed() {
			t.Logf("prometheus:\n%s", s.log)
		}
	})
	return s
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l := listen(t)
	defer l.Close()
	return l.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// query returns the series of an expression, except those whose value is NaN.
func (s *server) query(ctx context.Context, expr string) ([]map[string]string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		s.url+"/api/v1/query?"+url.Values{"query": {expr}}.Encode(), nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Error string
		Data  struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("%s: %s", expr, answer.Error)
	}
	var series []map[string]string
	for _, r := range answer.Data.Result {
		if r.Value[1] != "NaN" {
			series = append(series, r.Metric)
		}
	}
	return series, nil
}

// await repeats a query until done accepts the answer.
func (s *server) await(t *testing.T, what, expr string, done func([]map[string]string) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	began := time.Now()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		series, err := s.query(ctx, expr)
		if err == nil && done(series) {
			t.Logf("after %v: %s", time.Since(began).Round(time.Millisecond), what)
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("not within %v: %s; the last answer: %v, %v", waitLimit, what, series, err)
		}
	}
}

func isSome(series []map[string]string) bool { return len(series) > 0 }
func isNone(series []map[string]string) bool { return len(series) == 0 }

// rules returns the alerts, with the durations of the example.
func rules(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(
		"for: 20s", "for: 6s", // twice the TTL
		"> 2 * 3600", "> 4", // the job fails once in five seconds
		"for: 5m", "for: 2s",
	).Replace(string(text))
}

// queries returns the queries of the dashboard, by panel.
func queries(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../grafana/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			expr := strings.ReplaceAll(target.Expr, "$__rate_interval", "1m")
			found[panel.Title] = append(found[panel.Title], expr)
		}
	}
	if len(found) < 10 {
		t.Fatalf("only %d panels with queries", len(found))
	}
	return found
}

// A real Prometheus scrapes the example. All replicas are cut off for a while, and all are gone in the end.
func TestPrometheus_AlertsFireAndClearAndEveryPanelHasData(t *testing.T) {
	listener := listen(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	cut, heal := make(chan time.Time), make(chan time.Time)
	go func() { ended <- serveEmbedded(ctx, listener, cut, heal) }() // ends with stop; the cleanup waits for it
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	p := startPrometheus(t, listener.Addr().String(), rules(t))

	p.await(t, "one replica leads", "sum(redlock_election_leader) == 1", isSome)
	p.await(t, "good runs", `increase(redlock_job_runs_total{redlock_run_outcome="ok"}[4s]) > 0`, isSome)
	firing := func(alert string) string { return fmt.Sprintf(`ALERTS{alertname=%q,alertstate="firing"}`, alert) }
	p.await(t, "no alert fires before", `ALERTS{alertstate="firing"}`, isNone)

	close(cut)
	p.await(t, "nobody leads", "sum(redlock_election_leader) == 0", isSome)
	p.await(t, "the alert of the leader", firing("RedlockNotOneLeader"), isSome)
	p.await(t, "the alert of the job", firing("RedlockJobWithoutGoodRun"), isSome)
	close(heal)
	p.await(t, "one replica leads again", "sum(redlock_election_leader) == 1", isSome)
	p.await(t, "no alert fires after", `ALERTS{alertstate="firing"}`, isNone)

	for panel, exprs := range queries(t) {
		for _, expr := range exprs {
			p.await(t, "data of panel "+panel+": "+expr, expr, isSome)
		}
	}

	p.await(t, "no alert fires before the end", `ALERTS{alertstate="firing"}`, isNone)
	stop()
	p.await(t, "all series end", `{__name__=~"redlock_.+"}`, isNone)
	p.await(t, "the alert of the leader without replicas", firing("RedlockNotOneLeader"), isSome)
	p.await(t, "the alert of the job without replicas", firing("RedlockJobWithoutGoodRun"), isSome)
}
