package slogcore_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/redlockfx/redlockfx/internal/slogcore"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// written returns the line that a JSON handler writes for an entry.
func written(t *testing.T, options *slog.HandlerOptions, log func(*zap.Logger)) map[string]any {
	t.Helper()
	var b bytes.Buffer
	log(slogcore.New(slog.New(slog.NewJSONHandler(&b, options))))
	if b.Len() == 0 {
		return nil
	}
	var line map[string]any
	if err := json.Unmarshal(b.Bytes(), &line); err != nil {
		t.Fatalf("%v: %s", err, &b)
	}
	return line
}

func TestCore_KeepsWhatIsLogged(t *testing.T) {
	line := written(t, &slog.HandlerOptions{AddSource: true}, func(l *zap.Logger) {
		l.Named("jobs").With(zap.String("election", "billing"), zap.Namespace("run"), zap.Uint64("term", 7)).Warn("run failed",
			zap.Duration("took", time.Second), zap.Error(errors.New("no")), zap.Namespace("deep"), zap.Bool("last", true),
			zap.Strings("nodes", []string{"a", "b"}))
	})
	run, _ := line["run"].(map[string]any)
	deep, _ := run["deep"].(map[string]any)
	source, _ := line["source"].(map[string]any)
	for what, is := range map[string]bool{
		"level": line["level"] == "WARN", "message": line["msg"] == "run failed", "field": line["election"] == "billing",
		"logger": run["logger"] == "jobs", "group": run["term"] == float64(7), "error": run["error"] == "no",
		"duration": run["took"] == float64(time.Second), "inner group": deep["last"] == true,
		"list": len(deep["nodes"].([]any)) == 2, "source": strings.HasSuffix(source["file"].(string), "slogcore_test.go"),
	} {
		if !is {
			t.Errorf("%s is not kept: %v", what, line)
		}
	}
}

func TestCore_MapsLevels(t *testing.T) {
	for level, want := range map[zapcore.Level]string{
		zapcore.DebugLevel: "DEBUG", zapcore.InfoLevel: "INFO", zapcore.WarnLevel: "WARN", zapcore.ErrorLevel: "ERROR",
		zapcore.DPanicLevel: "ERROR",
	} {
		line := written(t, &slog.HandlerOptions{Level: slog.LevelDebug}, func(l *zap.Logger) { l.Log(level, "x") })
		if line["level"] != want {
			t.Errorf("%v became %v", level, line["level"])
		}
	}
	if line := written(t, &slog.HandlerOptions{Level: slog.LevelWarn}, func(l *zap.Logger) { l.Info("x") }); line != nil {
		t.Errorf("a handler with level warn got %v", line)
	}
}

// The handler gets records that keep the rules of slog.
func TestCore_HandsOverWholeRecords(t *testing.T) {
	var b bytes.Buffer
	log := slogcore.New(slog.New(slog.NewJSONHandler(&b, nil)))
	for range 3 {
		log.Info("x", zap.String("k", "v"))
	}
	if n := strings.Count(b.String(), `"k":"v"`); n != 3 {
		t.Errorf("%d of 3 lines: %s", n, &b)
	}
}

// A logger without a handler, as the zero one, writes nowhere.
func TestNew_WithoutAHandler(t *testing.T) {
	for _, log := range []*slog.Logger{nil, {}} {
		slogcore.New(log).Error("nobody reads this")
	}
}
