package redlockfx_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"text/template"
	"time"

	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"pgregory.net/rapid"

	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/internal/testkit/secret"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// shown returns the Config in every way that it may be written, by the name of the way.
func shown(t testing.TB, config redlockfx.Config) map[string]string {
	t.Helper()
	around := struct {
		Config  redlockfx.Config
		Pointer *redlockfx.Config
	}{config, &config}
	all := map[string]string{
		"fmt":     fmt.Sprintf("%v %+v %#v %s", config, config, config, config),
		"fmt, &":  fmt.Sprintf("%v %+v %#v %s", &config, &config, &config, &config),
		"fmt, in": fmt.Sprintf("%v %+v %#v", around, around, around),
	}
	for verb := range strings.SplitSeq("%b %c %d %e %f %g %o %q %s %t %U %v %x %X %z %6.2f %+d %#x %-9q", " ") {
		for name, v := range map[string]any{"itself": config, "&": &config, "in": around, "map": map[string]any{"a": []any{config}}} {
			all["fmt, "+verb+", "+name] = fromHex(verb, fmt.Sprintf(verb, v))
		}
	}
	var page strings.Builder
	err := template.Must(template.New("").Parse(`{{.}} {{printf "%d" .}} {{html .}} {{js .}}`)).Execute(&page, config)
	if err != nil {
		t.Fatal(err)
	}
	all["template"] = page.String()
	x, err := xml.Marshal([]any{config, &config})
	if err != nil {
		t.Fatal(err)
	}
	all["xml"] = string(x)
	yaml, err := config.MarshalYAML()
	if err != nil {
		t.Fatal(err)
	}
	all["yaml"] = fmt.Sprintf("%+v", yaml)
	for name, v := range map[string]any{"itself": config, "pointer": &config, "in a struct": around, "in a slice": []redlockfx.Config{config}} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		all["json, "+name] = string(text)

		var b bytes.Buffer
		slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "config", v)
		slog.New(slog.NewTextHandler(&b, nil)).Info("x", "config", v)
		all["slog, "+name] = b.String()

		var z bytes.Buffer
		for _, encoder := range []zapcore.Encoder{
			zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.NewConsoleEncoder(zap.NewDevelopmentEncoderConfig()),
		} {
			log := zap.New(zapcore.NewCore(encoder, zapcore.AddSync(&z), zap.InfoLevel))
			log.Info("x", zap.Any("config", v), zap.Reflect("reflected", v))
			log.Sugar().Infof("%v %+v %#v", v, v, v)
			log.Sugar().Infow("x", "config", v)
		}
		all["zap, "+name] = z.String()
	}
	return all
}

// fromHex decodes the output of %x, also within a struct. It returns the output of other verbs unchanged.
func fromHex(verb, text string) string {
	if !strings.ContainsAny(verb, "xX") {
		return text
	}
	return hexadecimal.ReplaceAllStringFunc(text, func(digits string) string {
		b, err := hex.DecodeString(digits)
		if err != nil {
			return digits
		}
		return string(b)
	})
}

var hexadecimal = regexp.MustCompile(`[0-9a-fA-F]{8,}`)

func TestConfig_NeverShowsAPassword(t *testing.T) {
	config := redlockfx.Config{
		Name: "x", Nodes: []string{"redis://u:s3cret@a:1", "redis://:s3cret@b:1", "rediss://:s3cret@c:1"}, TTL: time.Second,
	}
	for how, text := range shown(t, config) {
		if strings.Contains(text, "s3cret") {
			t.Errorf("%s: shown: %s", how, text)
		}
		if !strings.Contains(text, "a:1") {
			t.Errorf("%s: the hosts are missing: %s", how, text)
		}
	}
	if err := config.Validate(); err != nil {
		t.Error(err)
	}
}

// partOfPassword matches parts of a password with a comma. One part has only digits: within a longer number, or after
// a point, the same digits belong to a time.
var partOfPassword = regexp.MustCompile(`s3cret|(^|[^0-9.])61234([^0-9]|$)`)

// The halves of a list that was split at the comma of a password look like addresses.
func TestConfig_HidesAllNodesIfOneIsNoAddress(t *testing.T) {
	for _, list := range []string{"redis://locks:61234,s3cret@a:1,b:1", "u:p@s3cret,x@a:1,u:p@b:1"} {
		config := redlockfx.Config{Name: "x", Nodes: strings.Split(list, ",")}
		for how, text := range shown(t, config) {
			if partOfPassword.MatchString(text) {
				t.Errorf("%s: %s: shown: %s", list, how, text)
			}
		}
	}
}

// All parts of this split list look like addresses.
func TestConfig_HidesAllNodesIfOnlySomeHaveCredentials(t *testing.T) {
	config := redlockfx.Config{Name: "x", Nodes: strings.Split("redis://locks:61234,s3cret,x:y@a:1", ",")}
	all := shown(t, config)
	all["Validate"] = fmt.Sprint(config.Validate())
	for how, text := range all {
		if partOfPassword.MatchString(text) {
			t.Errorf("%s: shown: %s", how, text)
		}
	}
	if config.Validate() == nil {
		t.Error("it is accepted")
	}
}

// No written Config, no error and no log line of an application has a part of a password, wherever it was typed.
func TestConfig_NeverShowsAPasswordInAnyPlace(t *testing.T) {
	secret.Check(t, func(r *rapid.T, s secret.Mistyped) {
		config := redlockfx.Config{Name: "x", Nodes: s.Among("b:1", "c:1")}
		all := shown(t, config)
		all["Validate"] = fmt.Sprint(config.Validate())
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

func TestConfig_ShowsWhatIsSet(t *testing.T) {
	config := redlockfx.Config{Name: "a b", Nodes: []string{"a:1", "b:1"}, TTL: 3 * time.Second, Observe: true}
	if got, want := config.String(), `{name "a b", nodes [a:1 b:1], ttl 3s, observe true}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// MarshalJSON is for logs, and must not change how JSON from elsewhere is read.
func TestConfig_IsReadFromJSON(t *testing.T) {
	var got redlockfx.Config
	err := json.Unmarshal([]byte(`{"Name": "x", "Nodes": ["redis://u:s3cret@a:1"], "TTL": 1000}`), &got)
	want := redlockfx.Config{Name: "x", Nodes: []string{"redis://u:s3cret@a:1"}, TTL: time.Microsecond}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, %v", got, err)
	}
}
