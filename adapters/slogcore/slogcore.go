// Package slogcore lets services that log with log/slog hear of what this module logs with zap:
//
//	election.WithLogger(zap.New(slogcore.New(slog.Default().Handler())))
//
// Levels, times, names of fields and, where the handler wants it, the source are kept. Nothing is buffered.
package slogcore

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"go.uber.org/zap/zapcore"
)

// core hands entries to a handler.
type core struct{ handler slog.Handler }

// New makes a core of a handler.
func New(handler slog.Handler) zapcore.Core { return core{handler} }

// Enabled asks the handler.
func (c core) Enabled(level zapcore.Level) bool {
	return c.handler.Enabled(context.Background(), slogLevel(level))
}

// slogLevel has four steps to one of zap's, whose levels above error are all errors here.
func slogLevel(level zapcore.Level) slog.Level {
	return slog.Level(min(level, zapcore.ErrorLevel) * 4)
}

// With adds fields to all that follows; a namespace is a group.
func (c core) With(fields []zapcore.Field) zapcore.Core {
	handler := c.handler
	for _, f := range fields {
		if f.Type == zapcore.NamespaceType {
			handler = handler.WithGroup(f.Key)
		} else if attrs := attrsOf(f); len(attrs) > 0 {
			handler = handler.WithAttrs(attrs)
		}
	}
	return core{handler}
}

// Check is what zap asks first.
func (c core) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

// Write hands one entry over.
func (c core) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	record := slog.NewRecord(entry.Time, slogLevel(entry.Level), entry.Message, entry.Caller.PC)
	if entry.LoggerName != "" {
		record.AddAttrs(slog.String("logger", entry.LoggerName))
	}
	record.AddAttrs(grouped(fields)...)
	if entry.Stack != "" {
		record.AddAttrs(slog.String("stack", entry.Stack))
	}
	return c.handler.Handle(context.Background(), record)
}

// Sync has nothing to do.
func (c core) Sync() error { return nil }

// grouped has what follows a namespace in a group.
func grouped(fields []zapcore.Field) []slog.Attr {
	var attrs []slog.Attr
	for i, f := range fields {
		if f.Type == zapcore.NamespaceType {
			return append(attrs, slog.Attr{Key: f.Key, Value: slog.GroupValue(grouped(fields[i+1:])...)})
		}
		attrs = append(attrs, attrsOf(f)...)
	}
	return attrs
}

// attrsOf are what zap makes of a field: most often one; of an error with a stack two.
func attrsOf(f zapcore.Field) []slog.Attr {
	encoder := zapcore.NewMapObjectEncoder()
	f.AddTo(encoder)
	attrs := make([]slog.Attr, 0, len(encoder.Fields))
	for _, key := range slices.Sorted(maps.Keys(encoder.Fields)) {
		attrs = append(attrs, slog.Any(key, encoder.Fields[key]))
	}
	return attrs
}
