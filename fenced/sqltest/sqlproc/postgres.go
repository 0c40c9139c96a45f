//go:build unix

package sqlproc

import (
	"context"
	"errors"
	"os/exec"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver
)

// StartPostgreSQL starts PostgreSQL. The settings are as in "fsync=off".
func StartPostgreSQL(ctx context.Context, settings ...string) (*Server, error) {
	initdb, err := program("initdb", "/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return nil, err
	}
	postgres, err := program("postgres", "/usr/lib/postgresql/*/bin/postgres")
	if err != nil {
		return nil, err
	}
	s, err := newServer("postgresql")
	if err != nil {
		return nil, err
	}
	s.Driver = "pgx"
	s.dsn = func(addr string) string { return "postgres://postgres@" + addr + "/postgres?sslmode=disable" }
	s.serve = func(port string) *exec.Cmd {
		args := []string{"-D", s.data(), "-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="}
		for _, setting := range settings {
			args = append(args, "-c", setting)
		}
		return s.command(postgres, args...)
	}
	prepare := s.command(initdb, "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if err := s.start(ctx, prepare); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}
