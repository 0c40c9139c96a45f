package main

import (
	"context"
	"fmt"
	"time"
)

// show prints what read returns. With --watch it repeats that until ctx is done, and prints errors without ending. A
// value that comes with an error is printed before it, as a table only if that has rows.
func (p *program) show(ctx context.Context, read func(context.Context) (any, table, error)) error {
	for {
		asked, cancel := context.WithTimeout(ctx, p.timeout)
		value, t, err := read(asked)
		cancel()
		if p.watch && ctx.Err() != nil {
			return nil
		}
		if value != nil && (err == nil || p.output == "json" || len(t.rows) > 0) {
			if p.watch && p.output == "table" {
				_, _ = fmt.Fprintf(p.out, "%s\n", time.Now().Format(time.TimeOnly)) // the next write reports an error
			}
			if problem := p.print(value, t); problem != nil {
				return problem // the output is closed
			}
		}
		if !p.watch {
			return err
		}
		if err != nil {
			text := oneLine(hideArguments(err, p.args, false))
			_, err = fmt.Fprintf(p.err, "redlockctl: %s %s\n", time.Now().Format(time.TimeOnly), text)
		}
		if err != nil {
			return err // the output is closed
		}
		select {
		case <-time.After(p.every):
		case <-ctx.Done():
			return nil
		}
	}
}

func (p *program) print(value any, t table) error {
	if p.output == "json" {
		text, err := encode(value, !p.watch)
		if err != nil {
			return err
		}
		_, err = p.out.Write(text)
		return err
	}
	columns, _ := terminal(p.out)
	if err := t.write(p.out, columns); err != nil || t.next == nil {
		return err
	}
	if _, err := fmt.Fprintln(p.out); err != nil {
		return err
	}
	return p.print(nil, *t.next)
}

// at formats a time for people, in this machine's zone, which the head of the table names. If the zone has another
// name at that time, as in summer, at adds the name.
func at(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	text := t.Local().Format(time.DateTime)
	if name := t.Local().Format("MST"); name != zoneMark() {
		text += " " + name
	}
	return text
}

// timeOf returns the time of which at made a text, to the second. It reports false if there is none.
func timeOf(text string) (time.Time, bool) {
	local, err := time.ParseInLocation(time.DateTime, text[:min(len(text), len(time.DateTime))], time.Local)
	for _, shift := range []time.Duration{0, -time.Hour, time.Hour} { // a time may come twice, in summer and in winter
		if t := local.Add(shift); err == nil && at(t) == text {
			return t, true
		}
	}
	return time.Time{}, false
}

// near formats a time for people briefly: the clock if it is today, otherwise the day, in this machine's zone.
func near(t time.Time) string {
	now := time.Now()
	switch local := t.Local(); {
	case t.IsZero():
		return "-"
	case local.Format(time.DateOnly) == now.Format(time.DateOnly):
		return local.Format(time.TimeOnly)
	case t.Sub(now).Abs() < 300*24*time.Hour:
		return local.Format("Jan 02 15:04")
	default:
		return local.Format(time.DateOnly)
	}
}

// zoneMark returns the name of this machine's zone.
func zoneMark() string { return time.Now().Format("MST") }

// in returns the head of a column of times.
func in(head string) string { return head + " (" + zoneMark() + ")" }

func short(d time.Duration) string { return d.Round(time.Millisecond).String() }
