package redlockfx_test

import (
	"strings"
	"testing"

	"go.uber.org/fx"

	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/internal/testkit/written"
)

// For %w and %p, which go vet refuses, fmt calls no method of a Config and shows it as it is.
func TestEveryType_IsWrittenWithoutSecrets(t *testing.T) {
	const hidden = "S3cretPassw0rd"
	config := redlockfx.Config{Name: "x", Nodes: []string{"redis://locks:" + hidden + "@a:1"}}
	// All parts of this split list look like addresses, but only some have credentials.
	torn := config
	torn.Nodes = strings.Split("redis://locks:"+hidden+",x:y@a:1", ",")
	// The first part of this one is no address, and the second looks like one.
	noAddress := config
	noAddress.Nodes = strings.Split("redis://locks:x,"+hidden+"@a:1,b:1", ",")
	all := map[string]any{"Config": config, "a split list": torn, "a list with no address": noAddress}
	written.Without(t, hidden, all, "fmt %w", "fmt %p")
	written.Without(t, hidden, map[string]any{
		"error": torn.Validate(), "Supply": fx.Supply(config),
		"Named": redlockfx.Named("x"), "GroupOption": redlockfx.For("x"),
	})
}
