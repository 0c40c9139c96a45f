//go:build unix

package redisproc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Backup copies the data files as they are now, in place of an earlier copy; the node may be
// running. Of one started with "--appendonly", "yes", "--appendfsync", "always" the copy has every
// write answered before the call. The node must not be rewriting its files meanwhile, which by
// itself it does from 64 MB on. A node without data files is an error.
func (n *Node) Backup() error {
	if err := n.copyData(); err != nil {
		return fmt.Errorf("redisproc: back up node %s: %w", n.addr, err)
	}
	return nil
}

func (n *Node) copyData() error {
	files, err := os.ReadDir(n.dataDir())
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return errors.New("no data files, it was not started to persist")
	}
	if err := os.RemoveAll(n.backupDir()); err != nil {
		return err
	}
	if err := os.CopyFS(n.backupDir(), os.DirFS(n.dataDir())); err != nil {
		return errors.Join(err, os.RemoveAll(n.backupDir())) // half a copy is none
	}
	return nil
}

// RestartFromBackup is [Node.Restart] with the data files of the last Backup: the node has
// forgotten what it was told since. The copy is kept.
func (n *Node) RestartFromBackup(ctx context.Context) error {
	return n.restart(ctx, func() error {
		if _, err := os.Stat(n.backupDir()); err != nil {
			return fmt.Errorf("no backup: %w", err)
		}
		if err := os.RemoveAll(n.dataDir()); err != nil {
			return err
		}
		return os.CopyFS(n.dataDir(), os.DirFS(n.backupDir()))
	})
}

// RestartEmpty is [Node.Restart] with all data files removed. The copy of Backup is kept.
func (n *Node) RestartEmpty(ctx context.Context) error {
	return n.restart(ctx, func() error {
		return errors.Join(os.RemoveAll(n.dataDir()), os.Mkdir(n.dataDir(), 0o700))
	})
}

func (n *Node) dataDir() string   { return filepath.Join(n.dir, "data") }
func (n *Node) backupDir() string { return filepath.Join(n.dir, "backup") }
