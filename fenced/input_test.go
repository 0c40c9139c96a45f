package fenced_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/fenced"
	"github.com/redlockfx/redlockfx/scheduler"
)

var errAway = errors.New("no route to the database")

// away is a database that cannot be reached. It counts how often somebody has tried.
type away struct{ tried int }

func (a *away) Connect(context.Context) (driver.Conn, error) { a.tried++; return nil, errAway }
func (a *away) Driver() driver.Driver                        { return nil }

func nothing(context.Context, *sql.Tx) error { return nil }

func good() fenced.Holder {
	return fenced.Run(scheduler.Run{Job: "report", Tick: time.UnixMilli(1700000000000), Token: 7})
}

func TestHolder_OfARun(t *testing.T) {
	want := fenced.Holder{Resource: "report", Token: 7, Key: "report@1700000000000", Tick: time.UnixMilli(1700000000000)}
	if got := good(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestHolder_IsCheckedBeforeTheDatabaseIsAsked(t *testing.T) {
	for problem, spoil := range map[string]func(*fenced.Holder){
		"belongs to no lease":     func(h *fenced.Holder) { h.Token = 0 },
		"is larger than":          func(h *fenced.Holder) { h.Token = math.MaxInt64 + 1 },
		"resource is empty":       func(h *fenced.Holder) { h.Resource = "" },
		"201 bytes":               func(h *fenced.Holder) { h.Resource = strings.Repeat("x", 201) },
		"resource \"a\\xff\"":     func(h *fenced.Holder) { h.Resource = "a\xff" },
		"251 bytes":               func(h *fenced.Holder) { h.Key = strings.Repeat("x", 251) },
		"key \"a\\x00\" must not": func(h *fenced.Holder) { h.Key = "a\x00" },
		"is not after 1970":       func(h *fenced.Holder) { h.Tick = time.Time{} },
	} {
		h := good()
		spoil(&h)
		server := &away{}
		db := open(t, server)
		err := fenced.Tx(t.Context(), db, h, nothing)
		if err == nil || !strings.Contains(err.Error(), problem) || server.tried > 0 {
			t.Errorf("%s: %v, after %d connections", problem, err, server.tried)
		}
		if err := fenced.Claim(t.Context(), db, h); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("claim: %s: %v", problem, err)
		}
	}
	err := fenced.Tx(t.Context(), open(t, &away{}), fenced.Holder{Key: "x"}, nothing)
	for _, problem := range []string{"resource", "token 0", "tick"} {
		if err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("nothing about the %s beside the others: %v", problem, err)
		}
	}
	server := &away{}
	if err := fenced.Tx(t.Context(), open(t, server), good(), nil); err == nil || server.tried > 0 {
		t.Errorf("without a function: %v, after %d connections", err, server.tried)
	}
	if err := fenced.Tx(t.Context(), nil, good(), nothing); err == nil {
		t.Error("the DB is nil, and no error")
	}
}

func TestTx_WrapsTheErrorOfADatabaseThatIsAway(t *testing.T) {
	db := open(t, &away{})
	for what, err := range map[string]error{
		"transaction": fenced.Tx(t.Context(), db, good(), nothing), "claim": fenced.Claim(t.Context(), db, good()),
		"tables": db.Init(t.Context()),
	} {
		if !errors.Is(err, errAway) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := db.Clean(t.Context(), 1); !errors.Is(err, errAway) {
		t.Errorf("clean: %v", err)
	}
	if _, err := db.Clean(t.Context(), 0); err == nil || errors.Is(err, errAway) {
		t.Errorf("clean nothing: %v", err)
	}
}

func TestNew_HasAllProblems(t *testing.T) {
	_, err := fenced.New(nil, 0, fenced.WithTables("a;b", "c.d.e"), fenced.WithRetention(time.Minute), fenced.WithSettle(0),
		fenced.WithReplica(strings.Repeat("x", 201)))
	for _, problem := range []string{"database is nil", "Dialect(0)", `"a;b"`, `"c.d.e"`, "retention 1m0s", "settle", "201 bytes"} {
		if err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("nothing about %s: %v", problem, err)
		}
	}
	if _, err := fenced.Schema(fenced.SQLite, fenced.WithTables("Keys", "keys")); err == nil {
		t.Error("one name for both tables, and no error")
	}
	if _, err := fenced.Schema(9); err == nil {
		t.Error("the schema of an unknown dialect, and no error")
	}
}

func TestOnLeader_PanicsOutsideATerm(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("it does not panic")
		}
	}()
	fenced.OnLeader(open(t, &away{}), nil, "ledger")(t.Context())
}

func open(t *testing.T, server driver.Connector) *fenced.DB {
	t.Helper()
	conns := sql.OpenDB(server)
	t.Cleanup(func() { _ = conns.Close() })
	db, err := fenced.New(conns, fenced.PostgreSQL)
	if err != nil {
		t.Fatal(err)
	}
	return db
}
