package main

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/election"
	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

// replica is one replica of the service, in the process of the test.
type replica struct {
	app  *fx.App
	logs *observer.ObservedLogs
	in   parts
}

type parts struct {
	fx.In
	Elector *election.Elector
	Jobs    *scheduler.Scheduler
	Mail    *election.Elector `name:"mail"`
	DB      *database
}

func newReplica(t *testing.T, name string, nodes *redlocktest.Nodes) *replica {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	r := &replica{logs: logs}
	var clients []fx.Option // instead of the addresses in the Config
	for _, client := range nodes.Process().Clients() {
		clients = append(clients, redlockfx.Node(func() redis.UniversalClient { return client }))
	}
	r.app = fx.New(fx.Options(clients...), fx.NopLogger, fx.Supply(zap.New(core)),
		service(redlockfx.Config{Name: "billing", TTL: ttl, NodeTimeout: 500 * time.Millisecond, Identity: name}, "127.0.0.1:0"),
		fx.Populate(&r.in), fx.StopTimeout(15*time.Second))
	if err := r.app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// stop stops the replica as SIGTERM does, and fails the test if something was closed too early.
func (r *replica) stop(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), r.app.StopTimeout())
	defer cancel()
	if err := r.app.Stop(ctx); err != nil {
		t.Error(err)
	}
	for _, line := range r.logs.FilterLevelExact(zap.ErrorLevel).All() {
		t.Errorf("logged: %s %v", line.Message, line.ContextMap())
	}
}

// shown returns the answer of the replica's server.
func (r *replica) shown(t *testing.T) (now state) {
	t.Helper()
	serving := r.logs.FilterMessage("serving").All()
	if len(serving) != 1 {
		t.Fatalf("logged %v", r.logs.All())
	}
	answer, err := http.Get("http://" + serving[0].ContextMap()["address"].(string))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&now); err != nil {
		t.Errorf("%s: %v", answer.Status, err)
	}
	return now
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func TestService_HandsOverAndStopsInOrder(t *testing.T) {
	nodes := redlocktest.New(t, 3)
	a := newReplica(t, "a", nodes)
	await(t, "a leads both elections", func() bool { return a.in.Elector.IsLeader() && a.in.Mail.IsLeader() })
	b := newReplica(t, "b", nodes)
	await(t, "invoices of a", func() bool { return len(rows(a, "invoice of")) > 0 })
	if now := b.shown(t); now.Leader != "a" || len(now.Jobs) != 2 {
		t.Errorf("b shows %+v", now)
	}

	// Another replica triggers the month, whose run triggers the invoices. The leader stops in the middle of that.
	if err := b.in.Jobs.Trigger(t.Context(), "month"); err != nil {
		t.Fatal(err)
	}
	await(t, "the month of a", func() bool { return len(rows(a, "month")) == 1 })
	await(t, "a run of a", func() bool { return running(t, a, "invoices") })
	a.stop(t)
	if got := a.in.DB.all(); len(rows(a, "mailbox closed")) != 1 || !strings.HasPrefix(got[0], "invoice of") {
		t.Errorf("the stop has left %q", got)
	}

	await(t, "b leads both elections", func() bool { return b.in.Elector.IsLeader() && b.in.Mail.IsLeader() })
	await(t, "invoices of b", func() bool { return len(rows(b, "invoice of")) > 0 })
	history, err := b.in.Jobs.History(t.Context(), "invoices", 100)
	if err != nil {
		t.Error(err)
	}
	for _, record := range history {
		if record.State == scheduler.StateFailed || record.State == scheduler.StateLost {
			t.Errorf("a run was cut off: %+v", record)
		}
	}
	b.stop(t)
}

// rows returns the rows in the database of r that start with prefix.
func rows(r *replica, prefix string) []string {
	return slices.DeleteFunc(r.in.DB.all(), func(row string) bool { return !strings.HasPrefix(row, prefix) })
}

func running(t *testing.T, r *replica, job string) bool {
	t.Helper()
	all, err := r.in.Jobs.Jobs(t.Context())
	return err == nil && slices.ContainsFunc(all, func(s scheduler.Status) bool { return s.Job == job && s.Running })
}
