// Package written writes a value in every way in which a program may write it, and searches the output for a secret.
package written

import (
	"bytes"
	"encoding/base64"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Verbs are the fmt verbs that Of uses. go vet refuses some of them for most types, but fmt accepts them.
var Verbs = strings.Fields("%v %+v %#v %s %q %x %X %d %t %b %o %e %c %U %z %p %w %-9q %+d %#x %9.99f")

// Of returns the outputs of a value, by the way in which it was written: with fmt, and with the loggers and encoders of
// the standard library and of zap. Each of them writes the value itself, what it points to or a pointer to it, and the
// value in a field, in a list and in a map. If an encoder refuses the value, its error is the output.
func Of(value any) map[string]string {
	all := map[string]string{}
	for form, v := range forms(value) {
		for _, verb := range Verbs {
			all["fmt "+verb+", "+form] = fmt.Sprintf(verb, v) + fmt.Errorf(verb, v).Error() // they differ for %w
		}
		for name, encode := range encoders {
			text, err := encode(v)
			all[name+", "+form] = fmt.Sprint(text, " ", err)
		}
	}
	return all
}

// forms returns the forms in which a program may have a value.
func forms(value any) map[string]any {
	v := reflect.ValueOf(value)
	all := map[string]any{"itself": value}
	if v.Kind() == reflect.Pointer {
		all["what it points to"] = v.Elem().Interface()
	} else {
		pointer := reflect.New(v.Type())
		pointer.Elem().Set(v)
		all["pointer"] = pointer.Interface()
	}
	around := reflect.New(reflect.StructOf([]reflect.StructField{{Name: "Field", Type: v.Type()}})).Elem()
	around.Field(0).Set(v)
	all["in a struct"] = around.Interface()
	all["in a pointed struct"] = around.Addr().Interface()
	all["in a list"] = reflect.Append(reflect.MakeSlice(reflect.SliceOf(v.Type()), 0, 1), v).Interface()
	all["in a map"] = map[string]any{"a": []any{value}}
	return all
}

var encoders = map[string]func(any) (string, error){
	"json": func(v any) (string, error) { text, err := json.Marshal(v); return string(text), err },
	"xml":  func(v any) (string, error) { text, err := xml.Marshal(v); return string(text), err },
	"gob": func(v any) (string, error) {
		var b bytes.Buffer
		err := gob.NewEncoder(&b).Encode(v)
		return b.String(), err
	},
	"slog": func(v any) (string, error) {
		var b bytes.Buffer
		for _, handler := range []slog.Handler{slog.NewJSONHandler(&b, nil), slog.NewTextHandler(&b, nil)} {
			slog.New(handler).Info("x", "value", v, slog.Group("group", "value", v))
		}
		return b.String(), nil
	},
	"zap": func(v any) (string, error) {
		var b bytes.Buffer
		fields := []zap.Field{zap.Any("any", v), zap.Reflect("reflected", v)}
		if object, is := v.(zapcore.ObjectMarshaler); is {
			fields = append(fields, zap.Object("object", object), zap.Inline(object))
		}
		for _, encoder := range []zapcore.Encoder{
			zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.NewConsoleEncoder(zap.NewDevelopmentEncoderConfig()),
		} {
			log := zap.New(zapcore.NewCore(encoder, zapcore.AddSync(&b), zap.InfoLevel))
			log.Info("x", fields...)
			log.Sugar().Infow("x", "value", v)
			log.Sugar().Info(v)
		}
		return b.String(), nil
	},
}

// Shows reports whether a text contains the secret, in plain text or as an encoder writes it.
func Shows(text, secret string) bool {
	plain, bytes := hex.EncodeToString([]byte(secret)), strings.Trim(fmt.Sprint([]byte(secret)), "[]")
	text64 := strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(secret)), "=")
	text = strings.ToLower(text)
	for _, form := range []string{secret, plain, bytes, text64[:len(text64)-1]} {
		if strings.Contains(text, strings.ToLower(form)) {
			return true
		}
	}
	return false
}

// Without fails the test for each way of writing one of the values that shows the secret. It ignores ways that start
// with one of except.
func Without(t *testing.T, secret string, values map[string]any, except ...string) {
	t.Helper()
	for name, value := range values {
		if value == nil {
			t.Errorf("%s: there is none", name)
			continue
		}
		for how, text := range Of(value) {
			excepted := slices.ContainsFunc(except, func(start string) bool { return strings.HasPrefix(how, start) })
			if !excepted && Shows(text, secret) {
				t.Errorf("%s: %s shows it: %.300s", name, how, text)
			}
		}
	}
}
