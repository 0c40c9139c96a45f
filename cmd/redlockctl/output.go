package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// table is what a command shows to people; programs get the value itself.
type table struct {
	head []string
	rows [][]string
	next *table // shown below it; nil: none
}

// show prints what read returns once, or again and again with --watch: until ctx is done, and over errors, which are
// shown as well. What comes with an error is shown before it.
func (p *program) show(ctx context.Context, read func(context.Context) (any, table, error)) error {
	for {
		asked, cancel := context.WithTimeout(ctx, p.timeout)
		value, t, err := read(asked)
		cancel()
		if p.watch && ctx.Err() != nil {
			return nil
		}
		if value != nil {
			if p.watch && p.output == "table" {
				_, _ = fmt.Fprintf(p.out, "%s\n", time.Now().Format(time.TimeOnly)) // the next line fails too
			}
			if problem := p.print(value, t); problem != nil {
				return problem // nobody reads any more
			}
		}
		if !p.watch {
			return err
		}
		if err != nil {
			_, err = fmt.Fprintf(p.err, "redlockctl: %s %s\n", time.Now().Format(time.TimeOnly), oneLine(err))
		}
		if err != nil {
			return err // nobody reads any more
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
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i := range row {
			row[i] = cell(row[i])
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(strings.Join(row, "\t"), "\t")); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil || t.next == nil {
		return err
	}
	if _, err := fmt.Fprintln(p.out); err != nil {
		return err
	}
	return p.print(nil, *t.next)
}

// at is a time for people, in the zone of this machine, which the head of the table names. A time at which the zone has
// another name, as in summer, has that name.
func at(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	text := t.Local().Format("2006-01-02 15:04:05")
	if name := t.Local().Format("MST"); name != zoneMark() {
		text += " " + name
	}
	return text
}

// zoneMark is the name of the zone of this machine.
func zoneMark() string { return time.Now().Format("MST") }

// in is the head of a column of times.
func in(head string) string { return head + " (" + zoneMark() + ")" }

func short(d time.Duration) string { return d.Round(time.Millisecond).String() }
