//go:build unix

package sqlproc

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"

	_ "github.com/go-sql-driver/mysql" // the driver
)

// StartMariaDB starts MariaDB. The settings are as in "innodb-flush-log-at-trx-commit=0".
func StartMariaDB(ctx context.Context, settings ...string) (*Server, error) {
	install, err := program("mariadb-install-db", "/usr/bin/mysql_install_db")
	if err != nil {
		return nil, err
	}
	mariadbd, err := program("mariadbd", "/usr/sbin/mariadbd")
	if err != nil {
		return nil, err
	}
	s, err := newServer("mariadb")
	if err != nil {
		return nil, err
	}
	s.Driver = "mysql"
	s.dsn = func(addr string) string { return "root@tcp(" + addr + ")/test" }
	s.serve = func(port string) *exec.Cmd {
		args := []string{
			"--no-defaults", "--datadir=" + s.data(), "--port=" + port, "--bind-address=127.0.0.1",
			"--socket=" + filepath.Join(s.dir, "socket"), "--pid-file=" + filepath.Join(s.dir, "pid"),
			"--innodb-buffer-pool-size=64M", "--performance-schema=off",
		}
		for _, setting := range settings {
			args = append(args, "--"+setting)
		}
		return s.command(mariadbd, args...)
	}
	prepare := s.command(install, "--no-defaults", "--datadir="+s.data(), "--auth-root-authentication-method=normal")
	if err := s.start(ctx, prepare); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}
