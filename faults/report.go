package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// The tables stand between these marks.
const (
	beginMark = "<!-- faults -->\n"
	endMark   = "<!-- end of faults -->\n"
)

// report returns the tables in Markdown: one of holders, one of schedulers, and one of versions.
func report(all []outcome) string {
	var b strings.Builder
	b.WriteString("\n### Locks and leaders\n\nEach cell has the time of overlap, the number of stale writes (and of others that a token refused), and " +
		"the time from the fault until the next holder's first write:\n\n")
	table(&b, all, false, func(o outcome) string {
		stale := fmt.Sprint(o.Held.Stale)
		if o.Held.Refused > 0 {
			stale = fmt.Sprintf("%d and %d refused", o.Held.Stale, o.Held.Refused)
		}
		if o.Scenario == quiet {
			return fmt.Sprintf("%s, %s", seconds(o.Held.Overlap), stale)
		}
		return fmt.Sprintf("%s, %s, %s", seconds(o.Held.Overlap), stale, seconds(o.Held.Next))
	})
	b.WriteString("\n### Schedulers\n\nEach cell has the number of ticks that ran twice, of ticks lost among how many, and " +
		"the time from the fault until the next run:\n\n")
	table(&b, all, true, func(o outcome) string {
		if o.Scenario == quiet {
			return fmt.Sprintf("%d, %d of %d", o.Ran.Twice, o.Ran.Lost, o.Ran.Ticks)
		}
		return fmt.Sprintf("%d, %d of %d, %s", o.Ran.Twice, o.Ran.Lost, o.Ran.Ticks, seconds(o.Ran.Next))
	})
	b.WriteString("\n### Scenarios and versions\n\n")
	for _, s := range scenarios {
		fmt.Fprintf(&b, "- **%s**: %s\n", s.name, s.title)
	}
	b.WriteString("\n| | version | settings | servers |\n|---|---|---|---|\n")
	for _, p := range peers {
		servers := "PostgreSQL"
		if p.servers > 0 {
			servers = fmt.Sprintf("%d Redis", p.servers)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", p.name, version(p.module), p.settings, servers)
	}
	b.WriteString("\n")
	return b.String()
}

// table writes a row for each peer of a kind, and a column for each scenario that was played.
func table(b *strings.Builder, all []outcome, schedules bool, cell func(outcome) string) {
	var played []string
	for _, s := range scenarios {
		if slices.ContainsFunc(all, func(o outcome) bool { return o.Scenario == s.name }) {
			played = append(played, s.name)
		}
	}
	fmt.Fprintf(b, "| | %s |\n|%s\n", strings.Join(played, " | "), strings.Repeat("---|", len(played)+1))
	for _, p := range peers {
		if p.schedules != schedules {
			continue
		}
		fmt.Fprintf(b, "| %s |", p.name)
		for _, s := range played {
			i := slices.IndexFunc(all, func(o outcome) bool { return o.Peer == p.name && o.Scenario == s })
			text := "–"
			if i >= 0 && !all[i].None {
				text = cell(all[i])
			}
			fmt.Fprintf(b, " %s |", text)
		}
		b.WriteString("\n")
	}
}

func seconds(d time.Duration) string {
	if d < 0 {
		return "never"
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// replace puts the text between the marks of a file.
func replace(file, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(old), beginMark)
	_, behind, closed := strings.Cut(rest, endMark)
	if !found || !closed {
		return fmt.Errorf("%s lacks the marks %q and %q", file, beginMark, endMark)
	}
	return os.WriteFile(file, []byte(before+beginMark+text+endMark+behind), 0o644)
}
