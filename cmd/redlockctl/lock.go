package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlockfx/redlockfx/internal/ops"
	"github.com/redlockfx/redlockfx/redlock"
)

func (p *program) lockCommand() *cobra.Command {
	return &cobra.Command{
		Use: "lock NAME...", Short: "Show who holds locks, with which token and time left", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			return p.withLocker(cmd.Context(), func(ctx context.Context, l *redlock.Locker) error {
				return p.show(ctx, func(ctx context.Context) (any, table, error) { return locks(ctx, l, names) })
			})
		},
	}
}

// locks returns the named locks. If none of them is held, the error says so.
func locks(ctx context.Context, l *redlock.Locker, names []string) (any, table, error) {
	type lock struct {
		Name  string        `json:"name"`
		Held  bool          `json:"held"`
		Value string        `json:"holder,omitempty"`
		Token uint64        `json:"token,omitempty"`
		Lease *ops.Duration `json:"lease_ms,omitempty"` // the time left
	}
	var list []lock
	t := table{head: []string{"LOCK", "HOLDER", "TOKEN", "LEFT"}}
	held := 0
	for _, name := range names {
		h, err := l.Holder(ctx, name)
		switch {
		case errors.Is(err, redlock.ErrVacant):
			list = append(list, lock{Name: name})
			t.rows = append(t.rows, []string{name, "(free)", "-", "-"})
			continue
		case errors.Is(err, redlock.ErrConfig):
			return nil, table{}, exit{misused, err}
		case err != nil:
			return nil, table{}, err
		}
		held++
		left := ops.Duration(max(time.Until(h.Expires), 0))
		list = append(list, lock{name, true, h.Value, h.Token, &left})
		holder := cmp.Or(h.Value, "(no name)")
		t.rows = append(t.rows, []string{name, holder, fmt.Sprint(h.Token), short(time.Duration(left))})
	}
	if held == 0 {
		return list, t, exit{no, fmt.Errorf("nobody holds %q", names)}
	}
	return list, t, nil
}
