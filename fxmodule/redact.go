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

// redacted returns the Config with the nodes' addresses instead of their URLs, which may have passwords. It hides all
// nodes if one is not an address, or if only some have credentials: the list may have been split at a comma in a
// password, and then several nodes have parts of it.
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

// field is a set field of a Config, with its name in YAML.
type field struct {
	name  string
	value any
}

// fields returns the set fields, redacted.
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

// String returns the set fields, without users and passwords.
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

// GoString returns the same for %#v.
func (c Config) GoString() string { return "redlockfx.Config" + c.String() }

// Format writes the result of String or GoString for every verb. The exceptions are %w and %p, which go vet refuses
// for a Config: fmt does not call Format for them, and shows the Config as it is.
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

// MarshalText returns the result of String, for encoding/xml and other packages that use this method.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// GobEncode returns an error, because gob is for storage, and a Config with hidden passwords could not be used again.
func (c Config) GobEncode() ([]byte, error) {
	return nil, errors.New("redlockfx: encoding/gob does not encode a Config, because it has passwords: store its source instead")
}

// MarshalJSON returns the Config without users and passwords. It is for logs, not for storage.
func (c Config) MarshalJSON() ([]byte, error) {
	type plain Config // without this method
	return json.Marshal(plain(c.redacted()))
}

// MarshalYAML returns the Config without users and passwords, for YAML packages that use this method.
func (c Config) MarshalYAML() (any, error) {
	type plain Config // without this method
	return plain(c.redacted()), nil
}

// LogValue returns the set fields without users and passwords, for log/slog.
func (c Config) LogValue() slog.Value {
	var attrs []slog.Attr
	for _, f := range c.fields() {
		attrs = append(attrs, slog.Any(f.name, f.value))
	}
	return slog.GroupValue(attrs...)
}

// MarshalLogObject adds the set fields without users and passwords, for zap.
func (c Config) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	for _, f := range c.fields() {
		zap.Any(f.name, f.value).AddTo(enc)
	}
	return nil
}
