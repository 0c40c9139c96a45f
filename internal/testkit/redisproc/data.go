//go:build unix

package redisproc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Backup copies the data files as they are now, and replaces an earlier copy. The node may be running.
// If it was started with "--appendonly", "yes", "--appendfsync", "always", the copy has every write that
// was answered before the call. The node must not rewrite its files meanwhile; on its own it does so
// only from 64 MB on. A node without data files is an error.
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
		return errors.Join(err, os.RemoveAll(n.backupDir())) // half a copy is useless
	}
	return nil
}

// RestartFromBackup is like [Node.Restart], but with the data files of the last Backup: the node has
// lost all later writes. The copy is kept.
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

// RestartEmpty is like [Node.Restart], but removes all data files first. The copy of Backup is kept.
func (n *Node) RestartEmpty(ctx context.Context) error {
	return n.restart(ctx, func() error {
		return errors.Join(os.RemoveAll(n.dataDir()), os.Mkdir(n.dataDir(), 0o700))
	})
}

func (n *Node) dataDir() string   { return filepath.Join(n.dir, "data") }
func (n *Node) backupDir() string { return filepath.Join(n.dir, "backup") }
