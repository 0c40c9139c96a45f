package redlockfx

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/redlockfx/redlockfx/internal/nodelist"
	"github.com/redlockfx/redlockfx/redlock"
)

// redacted is the Config with the addresses of the nodes in place of their URLs, which may hold passwords. All are hidden if
// one is no address, or only some have credentials: a list that was split at a comma of a password has parts of it in several.
func (c Config) redacted() Config {
	nodes := make([]string, len(c.Nodes))
	torn := nodelist.IsTorn(c.Nodes)
	for i, node := range c.Nodes {
		o, err := redlock.ClientOptions(node)
		if err != nil || torn {
			for i := range nodes {
				nodes[i] = "(hidden: not all are addresses)"
			}
			break
		}
		nodes[i] = o.Addr
	}
	c.Nodes = nodes
	return c
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

// Format writes what String or GoString returns, whatever the verb is. Fmt does not call it for %w and %p, which go vet
// refuses for a Config: those show it as it is.
func (c Config) Format(s fmt.State, verb rune) {
	switch {
	case verb == 'v' && s.Flag('#'):
		_, _ = fmt.Fprint(s, c.GoString()) // fmt has nowhere to return an error
	case verb == 'v':
		_, _ = fmt.Fprint(s, c.String())
	case strings.ContainsRune("sqxX", verb):
		_, _ = fmt.Fprintf(s, fmt.FormatString(s, verb), c.String())
	default:
		_, _ = fmt.Fprintf(s, "%%!%c(redlockfx.Config=%s)", verb, c.String())
	}
}

// MarshalText returns what String does, for encoding/xml and others that know this method.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// GobEncode returns an error: gob is for storing, and a Config with hidden passwords is none that could be used again.
func (c Config) GobEncode() ([]byte, error) {
	return nil, errors.New("redlockfx: a Config has passwords and is not written by encoding/gob: store where it was read from")
}

// MarshalJSON writes the Config without users and passwords: it is for logs, and a Config cannot be stored by it.
func (c Config) MarshalJSON() ([]byte, error) {
	type plain Config // without this method
	return json.Marshal(plain(c.redacted()))
}

// MarshalYAML returns the Config without users and passwords, for packages of YAML that know this method.
func (c Config) MarshalYAML() (any, error) {
	type plain Config // without this method
	return plain(c.redacted()), nil
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
