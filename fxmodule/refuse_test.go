package redlockfx_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"

	"github.com/redlockfx/redlockfx/election"
	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

var given = fx.Supply(redlockfx.Config{Name: "x", Nodes: []string{"127.0.0.1:1"}})

// everyHelper returns one call of each helper, with a constructor that needs an sql.DB, which no application has.
func everyHelper(opts ...redlockfx.GroupOption) map[string]fx.Option {
	return map[string]fx.Option{
		"Job":      redlockfx.Job(func(*sql.DB) []scheduler.Job { return nil }, opts...),
		"OnLeader": redlockfx.OnLeader(func(*sql.DB) func(context.Context) { return nil }, opts...),
		"Hooks":    redlockfx.Hooks(func(*sql.DB) election.Hooks { return election.Hooks{} }, opts...),
		"Node":     redlockfx.Node(func(*sql.DB) redis.UniversalClient { return nil }, opts...),
		"Locker":   redlockfx.Locker(func(*sql.DB) *redlock.Locker { return nil }, opts...),
		"Options":  redlockfx.Options(func(*sql.DB) []election.Option { return nil }, opts...),
	}
}

// A helper for an election that the application lacks is refused: nothing that it adds would ever be called.
func TestModule_RefusesWhatIsForNoElection(t *testing.T) {
	for name, opt := range everyHelper() {
		t.Run(name+" without a module", func(t *testing.T) {
			refused(t, []string{name + " at", "refuse_test.go:", "no redlockfx.", "has no election"}, opt)
		})
		if name == "Hooks" {
			continue // without For they apply to every election
		}
		t.Run(name+" without For", func(t *testing.T) {
			refused(t, []string{name + " at", "refuse_test.go:", "is for redlockfx.Module",
				`the application has no redlockfx.Module (it has redlockfx.Named("two"))`}, fx.Module("billing", opt), redlockfx.Named("two"),
				settings(redlockfx.Config{Name: "x", Nodes: []string{"127.0.0.1:1"}}))
		})
	}
	for name, opt := range everyHelper(redlockfx.For("tow")) {
		t.Run(name+" for a name that is misspelled", func(t *testing.T) {
			refused(t, []string{name + " at", "refuse_test.go:", `no redlockfx.Named("tow")`,
				"it has redlockfx.Module"}, redlockfx.Module, given, fx.Module("billing", opt))
		})
	}
}

func TestModule_NamesWhatAConstructorLacks(t *testing.T) {
	for name, opt := range everyHelper() {
		t.Run(name, func(t *testing.T) {
			refused(t, []string{"refuse_test.go:", "fxmodule_test\".everyHelper.func", "missing type: *sql.DB"},
				redlockfx.Module, given, opt)
			if err := fx.ValidateApp(fx.NopLogger, redlockfx.Module, given, opt); err == nil {
				t.Error("fx.ValidateApp finds nothing")
			}
		})
	}
}

func TestModule_ValidateAppSeesAMissingConfig(t *testing.T) {
	for name, module := range map[string]fx.Option{"Module": redlockfx.Module, "Named": redlockfx.Named("two")} {
		if err := fx.ValidateApp(fx.NopLogger, module); err == nil || !strings.Contains(err.Error(), "redlockfx.Config") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := fx.ValidateApp(fx.NopLogger, redlockfx.Module, given); err != nil {
		t.Error(err)
	}
}

func TestHelpers_NameTheWayForTags(t *testing.T) {
	refused(t, []string{"Job at", "refuse_test.go:", "this is a fx.annotated", "a struct with fx.In"},
		redlockfx.Job(fx.Annotate(func(*sql.DB) scheduler.Job { return scheduler.Job{} }, fx.ParamTags(`name:"ro"`))))

	type in struct {
		fx.In
		DB *sql.DB `name:"ro"`
	}
	var took *sql.DB
	db := new(sql.DB)
	app := fx.New(fx.NopLogger, redlockfx.Module, given,
		fx.Provide(fx.Annotated{Name: "ro", Target: func() *sql.DB { return db }}),
		redlockfx.Job(func(in in) scheduler.Job {
			took = in.DB
			return scheduler.Job{Name: "j", Spec: "@daily", Run: func(context.Context, scheduler.Run) error { return nil }}
		}))
	if app.Err() != nil || took != db {
		t.Errorf("%v, %v", app.Err(), took)
	}
}

func TestOnLeader_RefusesWhatReturnsNil(t *testing.T) {
	refused(t, []string{"redlockfx.OnLeader has returned nil"}, redlockfx.Module, given,
		redlockfx.OnLeader(func() func(context.Context) { return nil }))
}

func TestStart_IsRefusedAfterAStop(t *testing.T) {
	inBubble(t, func(t *testing.T, c *cluster) {
		app, _ := c.app(redlockfx.Config{Name: "x"}, redlockfx.OnLeader(func(ctx context.Context) { <-ctx.Done() }))
		app.RequireStart()
		time.Sleep(time.Second)
		app.RequireStop()
		err := app.Start(t.Context())
		if err == nil || !strings.Contains(err.Error(), "redlockfx.Module has been stopped") {
			t.Errorf("got %v", err)
		}
	})
}
