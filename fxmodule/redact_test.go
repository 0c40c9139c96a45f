package redlockfx_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
)

func TestConfig_NeverShowsAPassword(t *testing.T) {
	config := redlockfx.Config{
		Name: "x",
		Nodes: []string{
			"redis://u:s3cret@a:1", "u:s3cret@b:1", "redis://u:s3cret#@c:1", "rediss://:s3cret@d:1", "redis://u:12345/6@e:1",
		},
		TTL: time.Second,
	}
	around := struct {
		Config  redlockfx.Config
		Pointer *redlockfx.Config
	}{config, &config}
	shown := map[string]string{
		"fmt":      fmt.Sprintf("%v %+v %#v %s", config, config, config, config),
		"fmt, &":   fmt.Sprintf("%v %+v %#v %s", &config, &config, &config, &config),
		"fmt, in":  fmt.Sprintf("%v %+v", around, around),
		"validate": fmt.Sprint(config.Validate()),
	}
	for name, v := range map[string]any{"itself": config, "pointer": &config, "in a struct": around, "in a slice": []redlockfx.Config{config}} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		shown["json, "+name] = string(text)

		var b bytes.Buffer
		slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "config", v)
		slog.New(slog.NewTextHandler(&b, nil)).Info("x", "config", v)
		shown["slog, "+name] = b.String()

		var z bytes.Buffer
		for _, encoder := range []zapcore.Encoder{
			zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.NewConsoleEncoder(zap.NewDevelopmentEncoderConfig()),
		} {
			log := zap.New(zapcore.NewCore(encoder, zapcore.AddSync(&z), zap.InfoLevel))
			log.Info("x", zap.Any("config", v), zap.Reflect("reflected", v))
			log.Sugar().Infof("%v %+v", v, v)
		}
		shown["zap, "+name] = z.String()
	}
	for how, text := range shown {
		if strings.Contains(text, "s3cret") || strings.Contains(text, "12345") {
			t.Errorf("%s: shown: %s", how, text)
		}
		if !strings.Contains(text, "a:1") && how != "validate" && !strings.Contains(text, "0x") {
			t.Errorf("%s: the hosts are missing: %s", how, text)
		}
	}
}

func TestConfig_ShowsWhatIsSet(t *testing.T) {
	config := redlockfx.Config{Name: "a b", Nodes: []string{"a:1", "b:1"}, TTL: 3 * time.Second, Observe: true}
	if got, want := config.String(), `{name "a b", nodes [a:1 b:1], ttl 3s, observe true}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// MarshalJSON is for logs: what others write is read as before.
func TestConfig_IsReadFromJSON(t *testing.T) {
	var got redlockfx.Config
	err := json.Unmarshal([]byte(`{"Name": "x", "Nodes": ["redis://u:s3cret@a:1"], "TTL": 1000}`), &got)
	want := redlockfx.Config{Name: "x", Nodes: []string{"redis://u:s3cret@a:1"}, TTL: time.Microsecond}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, %v", got, err)
	}
}
