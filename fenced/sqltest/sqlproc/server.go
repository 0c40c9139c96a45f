//go:build unix

package sqlproc

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

const (
	startLimit = 60 * time.Second
	stopLimit  = 10 * time.Second
	nobody     = 65534 // the user without rights, and its group
	attempts   = 5     // another process may take the port between its choice and its use
)

// Server is a database server.
type Server struct {
	Driver string // of database/sql
	addr   string
	dsn    func(addr string) string
	dir    string
	login  *syscall.Credential // nil: our own
	serve  func(port string) *exec.Cmd
	cmd    *exec.Cmd
	gone   <-chan struct{} // closed when the process has ended
}

// Addr returns host:port.
func (s *Server) Addr() string { return s.addr }

// DSN returns the data source name of the server, or of a proxy in front of it.
func (s *Server) DSN(addr string) string { return s.dsn(addr) }

// newServer makes the folder of a server. If this process is root, the server runs as nobody, because it refuses to run
// as root.
func newServer(name string) (*Server, error) {
	dir, err := os.MkdirTemp("", name)
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir}
	if os.Getuid() != 0 {
		return s, nil
	}
	s.login = &syscall.Credential{Uid: nobody, Gid: nobody}
	if err := os.Chown(dir, nobody, nobody); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// command prepares a program that runs as the server's user in its folder.
func (s *Server) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "HOME="+s.dir, "TMPDIR="+s.dir)
	if s.login != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.login}
	}
	return cmd
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) log() string { return filepath.Join(s.dir, "log") }

// start makes the data, and starts the server on a free port.
func (s *Server) start(ctx context.Context, prepare *exec.Cmd) error {
	out, err := prepare.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(prepare.Path), err, out)
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for range attempts {
		if err = s.choose(); err != nil {
			return err
		}
		if err = s.run(ctx); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

func (s *Server) choose() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.addr = l.Addr().String()
	return l.Close()
}

// run starts the server on its port, and returns when it answers.
func (s *Server) run(ctx context.Context) error {
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the child has its own
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		return err
	}
	s.cmd = s.serve(port)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if s.gone, err = redisproc.StartChild(s.cmd); err != nil {
		return err
	}
	if err := s.answers(ctx); err != nil {
		text, _ := os.ReadFile(s.log()) // it is for people
		return fmt.Errorf("%s does not answer: %w\n%s", s.cmd.Path, errors.Join(err, s.kill()), text)
	}
	return nil
}

func (s *Server) answers(ctx context.Context) (err error) {
	db, err := sql.Open(s.Driver, s.dsn(s.addr))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if err = db.PingContext(ctx); err == nil {
			return nil
		}
		select {
		case <-s.gone:
			return fmt.Errorf("it has ended: %v", s.cmd.ProcessState)
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}

// kill ends the server without a clean shutdown, and waits. It sends SIGQUIT, upon which PostgreSQL ends at once: its
// children would outlive a SIGKILL for a moment.
func (s *Server) kill() error {
	if s.cmd == nil {
		return nil
	}
	if err := s.cmd.Process.Signal(syscall.SIGQUIT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	late := time.AfterFunc(stopLimit, func() { _ = s.cmd.Process.Kill() }) // it may just have ended
	<-s.gone
	late.Stop()
	return nil
}

// Close kills the server and removes its data.
func (s *Server) Close() error { return errors.Join(s.kill(), os.RemoveAll(s.dir)) }

// program finds a program on PATH, or in a folder where Debian has it.
func program(name, elsewhere string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	found, err := filepath.Glob(elsewhere)
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("%s is not installed: make install", name)
	}
	return found[len(found)-1], nil
}
