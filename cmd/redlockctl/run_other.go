//go:build !unix

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func (p *program) runCommand() *cobra.Command {
	return &cobra.Command{
		Use: "run", Short: "Run a command while a lock is held (not on this system)", Args: cobra.ArbitraryArgs,
		RunE: func(*cobra.Command, []string) error {
			return exit{misused, errors.New("run needs a Unix system, because it stops commands with signals")}
		},
	}
}

func hiddenCommands() []*cobra.Command { return nil }
