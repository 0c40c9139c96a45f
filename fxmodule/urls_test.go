package redlockfx_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"pgregory.net/rapid"

	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/internal/testkit/secret"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// No written Config, no error and no log line of an application has a part of a password, wherever it was typed.
func TestConfig_NeverShowsAPasswordInAnyPlace(t *testing.T) {
	secret.Check(t, func(r *rapid.T, s secret.Mistyped) {
		config := redlockfx.Config{Name: "x", Nodes: s.Among("b:1", "c:1")}
		text, err := json.Marshal(config)
		if err != nil {
			r.Fatal(err)
		}
		all := map[string]string{
			"fmt": fmt.Sprintf("%v %#v", config, config.Nodes), "json": string(text), "Validate": fmt.Sprint(config.Validate()),
		}
		core, logged := observer.New(zap.DebugLevel)
		app := fx.New(redlockfx.Module, fx.Supply(config, zap.New(core)),
			fx.WithLogger(func(log *zap.Logger) fxevent.Logger { return &fxevent.ZapLogger{Logger: log} }),
			redlockfx.Job(func(*redlock.Locker) []scheduler.Job { return nil }))
		all["fx"] = fmt.Sprint(app.Err(), logged.All())
		for how, text := range all {
			if part := s.In(text); part != "" {
				r.Fatalf("%q: %s shows %q: %s", s.URL, how, part, text)
			}
		}
	})
}

func TestConfig_ShowsHosts(t *testing.T) {
	config := redlockfx.Config{Name: "a b", Nodes: []string{"redis://u:p@a:1", "redis://u:p@b:1"}, TTL: 3 * time.Second, Observe: true}
	config.Nodes = append(config.Nodes, " valkeys://u:p@c:1\n")
	text, err := json.Marshal(config)
	if err != nil || !strings.Contains(string(text), `"Nodes":"a:1,b:1,c:1"`) {
		t.Errorf("got %s, %v", text, err)
	}
	if got := fmt.Sprintf("%+v", config); !strings.Contains(got, "{Name:a b Nodes:[a:1 b:1 c:1] ") {
		t.Errorf("got %s", got)
	}
}

// MarshalText is for logs, and must not change how JSON from elsewhere is read.
func TestConfig_IsReadFromJSON(t *testing.T) {
	var got redlockfx.Config
	err := json.Unmarshal([]byte(`{"Name": "x", "Nodes": ["redis://u:s3cret@a:1"], "TTL": 1000}`), &got)
	want := redlockfx.Config{Name: "x", Nodes: []string{"redis://u:s3cret@a:1"}, TTL: time.Microsecond}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, %v", got, err)
	}
}
