package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/election/termlog"
	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/nearest"
	"github.com/redlockfx/redlockfx/internal/plain"
)

// nobodyLeads adds to an [election.ErrNoLeader] what the nodes know about the cause: that they grant nothing yet, who
// led last, or that no term of an election of this name is recorded.
func (p *program) nobodyLeads(ctx context.Context, e *election.Elector, err error) error {
	if !errors.Is(err, election.ErrNoLeader) {
		return err
	}
	guarded, all := time.Duration(0), e.Locker().Nodes(ctx)
	n := 0
	for _, node := range all {
		if node.Err == nil && node.Guard > 0 {
			n++
			guarded = max(guarded, node.Guard)
		}
	}
	if n > (len(all)-1)/2 {
		return fmt.Errorf("%w of %q: %d of %d nodes grant nothing for another %v: they have restarted, or nothing has been locked "+
			"under the prefix %q", election.ErrNoLeader, e.Name(), n, len(all), short(guarded), p.keyPrefix())
	}
	terms, problem := termlog.Read(ctx, e.Locker(), e.Name())
	switch {
	case problem != nil:
		return err
	case len(terms) == 0:
		return p.noTerms(ctx, e)
	}
	last, until := terms[0], "its end is not recorded"
	if last.Ended {
		until = "until " + at(last.Until)
	} else if !last.Until.IsZero() {
		until = fmt.Sprintf("until %s, or up to %v longer", at(last.Until), termlog.Every)
	}
	return fmt.Errorf("%w of %q: the last was %q, from %s, %s (%s)", election.ErrNoLeader, e.Name(), last.Replica, at(last.Since), until, zoneMark())
}

// noTerms returns an error that says that no term of the election is recorded, and hints at elections that the nodes know. They know
// one without terms if its service does not record them, as scheduler.Serve, or if the list of nodes has changed.
func (p *program) noTerms(ctx context.Context, e *election.Elector) error {
	hint := "check --election and --prefix"
	known := p.elections(ctx)
	if slices.Contains(known, e.Name()) {
		return fmt.Errorf("%w of %q: somebody has led, but no term is recorded, so it is not known who and when", election.ErrNoLeader, e.Name())
	}
	if len(known) > 0 {
		hint = nearest.Question(nearest.Names(e.Name(), known))
		if hint == "" {
			const some = 5
			slices.Sort(known)
			hint = fmt.Sprintf("the nodes know %q", known[:min(some, len(known))])
		}
	}
	return fmt.Errorf("%w: no term of an election %q is recorded under the prefix %q: %s", election.ErrNoLeader, e.Name(), p.keyPrefix(), hint)
}

// elections returns the names of elections that a node knows, for a hint. It returns none if the user may not ask.
func (p *program) elections(ctx context.Context) []string {
	clients, err := p.clients()
	if err != nil {
		return nil
	}
	var names []string
	for _, client := range clients {
		defer func() { _ = client.Close() }() // nothing was written
	}
	const pages, page = 20, 500 // fields of locks: more are not worth a hint
	prefix := "n:" + inside.ElectionLock("")
	for _, client := range clients {
		cursor := uint64(0)
		for range pages {
			found, next, err := client.HScan(ctx, p.hash(), cursor, prefix+"*", page).Result()
			if err != nil {
				break
			}
			for i := 0; i < len(found); i += 2 {
				names = append(names, strings.TrimPrefix(found[i], prefix))
			}
			if cursor = next; cursor == 0 {
				break
			}
		}
		if len(names) > 0 {
			break
		}
	}
	return names
}

// completeElections completes names of elections that the nodes know.
func (p *program) completeElections(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), p.timeout)
	defer cancel()
	return slices.DeleteFunc(p.elections(ctx), isUnprintable), cobra.ShellCompDirectiveNoFileComp
}

// isUnprintable reports whether the shell must not get a name for completion. It prints the names, so they must be plain
// text. Cobra gives the prefix a special meaning.
func isUnprintable(name string) bool {
	return name != plain.Text(name) || strings.HasPrefix(name, "_activeHelp_")
}

// unknownCommand returns the error for a word that is no command.
func unknownCommand(word string, commands []string) error {
	err := fmt.Errorf("unknown command %q", word)
	if hint := nearest.Question(nearest.Names(word, commands)); hint != "" {
		err = fmt.Errorf("%w: %s", err, hint)
	}
	return err
}
