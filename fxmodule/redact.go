package redlockfx

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// redacted is the Config with the hosts of the nodes in place of their URLs, which may hold passwords.
func (c Config) redacted() Config {
	nodes := make([]string, len(c.Nodes))
	for i, node := range c.Nodes {
		nodes[i] = host(node)
	}
	c.Nodes = nodes
	return c
}

func host(node string) string {
	if !strings.Contains(node, "://") {
		node = "redis://" + node
	}
	// An '@' behind the host is that of a password with a character that ends the host: what stands there is no host.
	if u, err := url.Parse(node); err == nil && !strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") {
		return u.Host
	}
	return "(not an address)"
}

// field is one field of a Config that is set, under its name in YAML.
type field struct {
	name  string
	value any
}

// fields returns what is set, redacted.
func (c Config) fields() []field {
	var set []field
	v := reflect.ValueOf(c.redacted())
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsZero() && (f.Kind() != reflect.Slice || f.Len() > 0) {
			set = append(set, field{v.Type().Field(i).Tag.Get("yaml"), f.Interface()})
		}
	}
	return set
}

// String shows what is set, without users and passwords.
func (c Config) String() string {
	var words []string
	for _, f := range c.fields() {
		format := "%s %v"
		if _, text := f.value.(string); text {
			format = "%s %q"
		}
		words = append(words, fmt.Sprintf(format, f.name, f.value))
	}
	return "{" + strings.Join(words, ", ") + "}"
}

// GoString is String, for %#v.
func (c Config) GoString() string { return "redlockfx.Config" + c.String() }

// MarshalJSON writes the Config without users and passwords: it is for logs, and a Config cannot be stored by it.
func (c Config) MarshalJSON() ([]byte, error) {
	type plain Config // without this method
	return json.Marshal(plain(c.redacted()))
}

// LogValue is what log/slog writes: what is set, without users and passwords.
func (c Config) LogValue() slog.Value {
	var attrs []slog.Attr
	for _, f := range c.fields() {
		attrs = append(attrs, slog.Any(f.name, f.value))
	}
	return slog.GroupValue(attrs...)
}

// MarshalLogObject is what zap writes: what is set, without users and passwords.
func (c Config) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	for _, f := range c.fields() {
		zap.Any(f.name, f.value).AddTo(enc)
	}
	return nil
}
