package dashboard

import "fmt"

// Alerts returns the problems for the page. One alert covers all parts that could not be read; its details have their
// errors.
func (c *content) Alerts() []alert {
	var all []alert
	var parts []problem
	for _, p := range c.Problems {
		if p.stale {
			parts = append(parts, p)
			continue
		}
		all = append(all, alert{Text: p.What + ": " + p.Why, Known: p.Known})
	}
	if len(parts) == 0 {
		return all
	}
	var names, why, never []string
	for _, p := range parts {
		names = append(names, p.What)
		if p.Known == notKnown {
			never = append(never, p.What)
		}
		why = append(why, fmt.Sprintf("%s, %s: %s", p.What, p.Known, p.Why))
	}
	good := 0
	for _, n := range c.Nodes {
		if n.Err == "" {
			good++
		}
	}
	shown := "The page shows the last known state."
	if len(never) > 0 {
		shown = "Nothing is known of " + joined(never) + " yet."
	}
	return append([]alert{{
		Text: fmt.Sprintf("Failed to read %s from the nodes: %d of %d nodes answer, %d are needed. %s",
			joined(names), good, len(c.Nodes), len(c.Nodes)/2+1, shown),
		Known: parts[0].Known, Details: why,
	}}, all...)
}

// alert is a problem for the page.
type alert struct {
	Text, Known string
	Details     []string
}

// Quiet reports whether everything is known and nothing needs attention.
func (c *content) Quiet() bool { return len(c.Attention) == 0 && len(c.Problems) == 0 && c.Leads() }
