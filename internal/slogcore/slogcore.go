// Package slogcore writes what this library logs with zap to log/slog. Levels, times, names of fields and, if the handler uses it, the
// source are kept. Nothing is buffered.
package slogcore

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// core passes entries to a handler.
type core struct{ handler slog.Handler }

// New returns a logger that writes to another one, or nowhere if that is nil or has no handler.
func New(log *slog.Logger) *zap.Logger {
	if log == nil || log.Handler() == nil {
		return zap.NewNop()
	}
	return zap.New(core{log.Handler()}, zap.AddCaller())
}

// Enabled asks the handler.
func (c core) Enabled(level zapcore.Level) bool {
	return c.handler.Enabled(context.Background(), slogLevel(level))
}

// slogLevel converts a level. One step of zap is four of slog, and levels above error become error.
func slogLevel(level zapcore.Level) slog.Level {
	return slog.Level(min(level, zapcore.ErrorLevel) * 4)
}

// With adds fields to all later entries. A namespace becomes a group.
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

// Check adds this core to an entry if its level is enabled. zap calls it before Write.
func (c core) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

// Write passes one entry to the handler.
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

// Sync does nothing, because nothing is buffered.
func (c core) Sync() error { return nil }

// grouped puts the attributes after a namespace into a group.
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

// attrsOf returns the attributes of a field: usually one, but two for an error with a stack.
func attrsOf(f zapcore.Field) []slog.Attr {
	encoder := zapcore.NewMapObjectEncoder()
	f.AddTo(encoder)
	attrs := make([]slog.Attr, 0, len(encoder.Fields))
	for _, key := range slices.Sorted(maps.Keys(encoder.Fields)) {
		attrs = append(attrs, slog.Any(key, encoder.Fields[key]))
	}
	return attrs
}
