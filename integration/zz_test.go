//go:build unix

package integration_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/redlock"
)

type zzLimiter struct {
	block time.Duration
	err   error
}

func (l zzLimiter) Allow() error           { time.Sleep(l.block); return l.err }
func (l zzLimiter) ReportResult(err error) {}

type zzHook struct{ block time.Duration }

func (h zzHook) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h zzHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { time.Sleep(h.block); return next(ctx, cmd) }
}
func (h zzHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { time.Sleep(h.block); return next(ctx, cmds) }
}

func zzUse(t *testing.T, l *redlock.Locker, n int) {
	var mu sync.Mutex
	l.OnNode(func(e redlock.NodeEvent) { mu.Lock(); defer mu.Unlock(); t.Logf("   EVENT %s %s op=%s err=%v", e.Kind, e.Addr, e.Op, e.Err) })
	for i := range n {
		began := time.Now()
		x, err := l.TryAcquire(t.Context(), "x")
		t.Logf("%d: %v after %v", i, err, time.Since(began))
		if err == nil {
			began = time.Now()
			err = x.Release(t.Context())
			t.Logf("   release: %v after %v", err, time.Since(began))
		}
		time.Sleep(700 * time.Millisecond)
	}
	for _, s := range l.Nodes(t.Context()) {
		t.Logf("   node err: %v", s.Err)
	}
}

func TestZZ_ThisSide(t *testing.T) {
	for name, change := range map[string]func(o *redis.Options){
		"limiter blocks":         func(o *redis.Options) { o.Limiter = zzLimiter{block: 3 * time.Second} },
		"limiter refuses":        func(o *redis.Options) { o.Limiter = zzLimiter{err: errors.New("rate limit of the application")} },
		"limiter blocks, own":    func(o *redis.Options) { o.Limiter = zzLimiter{block: 3 * time.Second}; o.ContextTimeoutEnabled = false },
		"dial blocks":            func(o *redis.Options) { o.Dialer = func(ctx context.Context, n, a string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() } },
		"dial blocks deaf":       func(o *redis.Options) { o.Dialer = func(ctx context.Context, n, a string) (net.Conn, error) { time.Sleep(4 * time.Second); return nil, ctx.Err() } },
		"dial blocks, own":       func(o *redis.Options) { o.ContextTimeoutEnabled = false; o.Dialer = func(ctx context.Context, n, a string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() } },
		"dial blocks deaf, own":  func(o *redis.Options) { o.ContextTimeoutEnabled = false; o.Dialer = func(ctx context.Context, n, a string) (net.Conn, error) { time.Sleep(4 * time.Second); return nil, ctx.Err() } },
		"dns hangs, own":         func(o *redis.Options) { o.ContextTimeoutEnabled = false; o.Dialer = func(ctx context.Context, n, a string) (net.Conn, error) {
			r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }}
			return (&net.Dialer{Resolver: r}).DialContext(ctx, n, "redis.example.com:6379") } },
		"dns unknown, own":       func(o *redis.Options) { o.ContextTimeoutEnabled = false; o.Addr = "nosuchhost.invalid:6379" },
		"pool 1, BLPOP":          func(o *redis.Options) { o.PoolSize = 1 },
		"pool 1, BLPOP, own":     func(o *redis.Options) { o.PoolSize = 1; o.ContextTimeoutEnabled = false },
	} {
		t.Run(name, func(t *testing.T) {
			nodes := startServers(t, 1)
			o := &redis.Options{Addr: nodes.Addrs()[0], ContextTimeoutEnabled: true}
			change(o)
			c := redis.NewClient(o)
			defer c.Close()
			if o.PoolSize == 1 {
				ctx, cancel := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				defer wg.Wait()
				defer cancel()
				for i := range 3 {
					wg.Go(func() {
						for ctx.Err() == nil {
							c.BLPop(ctx, 2*time.Second, fmt.Sprint("q", i))
						}
					})
				}
				time.Sleep(200 * time.Millisecond)
			}
			zzUse(t, lockerOn(t, []redis.UniversalClient{c}, redlock.WithoutRestartGuard(), redlock.WithTTL(10*time.Second)), 4)
		})
	}
	t.Run("blocking hook", func(t *testing.T) {
		nodes := startServers(t, 1)
		c := redis.NewClient(&redis.Options{Addr: nodes.Addrs()[0], ContextTimeoutEnabled: true})
		defer c.Close()
		c.AddHook(zzHook{3 * time.Second})
		zzUse(t, lockerOn(t, []redis.UniversalClient{c}, redlock.WithoutRestartGuard(), redlock.WithTTL(10*time.Second)), 4)
	})
	t.Run("TLS hangs", func(t *testing.T) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer ln.Close()
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				_ = c
			}
		}()
		l, err := redlock.Open([]string{"rediss://" + ln.Addr().String()}, redlock.WithTLS(&tls.Config{InsecureSkipVerify: true}), redlock.WithTTL(10*time.Second))
		must(t, err)
		defer l.Close(t.Context())
		zzUse(t, l, 4)
	})
}

// one direction of old connections is dropped.
func zzOneWay(t *testing.T, to string, dropToServer bool) (addr string, drop func()) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { ln.Close() })
	var gen atomic.Int64
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", to)
			if err != nil {
				c.Close()
				continue
			}
			mine := gen.Load()
			pipe := func(dst, src net.Conn, lossy bool) {
				buf := make([]byte, 1<<16)
				for {
					n, err := src.Read(buf)
					if err != nil {
						dst.Close()
						return
					}
					if lossy && gen.Load() > mine {
						continue
					}
					if _, err := dst.Write(buf[:n]); err != nil {
						return
					}
				}
			}
			go pipe(s, c, dropToServer)
			go pipe(c, s, !dropToServer)
		}
	}()
	return ln.Addr().String(), func() { gen.Add(1) }
}

func TestZZ_OneWay(t *testing.T) {
	for _, toServer := range []bool{true, false} {
		for _, how := range []string{"open", "new", "context"} {
			for _, pause := range []time.Duration{0, 5 * time.Millisecond, 50 * time.Millisecond, time.Second} {
				t.Run(fmt.Sprint(toServer, how, pause), func(t *testing.T) {
					t.Parallel()
					nodes := startServers(t, 1)
					addr, drop := zzOneWay(t, nodes.Addrs()[0], toServer)
					var l *redlock.Locker
					var err error
					switch how {
					case "open":
						l, err = redlock.Open([]string{addr}, redlock.WithoutRestartGuard(), redlock.WithTTL(10*time.Second))
					case "new":
						l, err = redlock.New([]redis.UniversalClient{redis.NewClient(&redis.Options{Addr: addr})}, redlock.WithoutRestartGuard(), redlock.WithTTL(10*time.Second))
					default:
						l, err = redlock.New([]redis.UniversalClient{redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})}, redlock.WithoutRestartGuard(), redlock.WithTTL(10*time.Second))
					}
					must(t, err)
					defer l.Close(context.Background())
					for range 5 {
						release(t, acquire(t, l, "x"))
					}
					held := acquire(t, l, "held")
					time.Sleep(pause)
					drop()
					began := time.Now()
					x, err := l.TryAcquire(t.Context(), "x")
					t.Logf("%v after %v", err, time.Since(began))
					if err != nil {
						x, err = l.TryAcquire(t.Context(), "x")
						t.Logf("again: %v after %v", err, time.Since(began))
					}
					_ = x
					t.Log(held.Extend(t.Context()))
				})
			}
		}
	}
}

func TestZZ_Addresses(t *testing.T) {
	dir := t.TempDir()
	sock := filepath.Join(dir, "r.sock")
	nodes := startServers(t, 1, "--unixsocket", sock, "--bind", "127.0.0.1", "-::1")
	addr := nodes.Addrs()[0]
	_, port, _ := net.SplitHostPort(addr)
	server := admins(t, nodes.Addrs())[0]
	for user, pw := range map[string]string{"ann": "p%40@w:/?#[]!$&'()*+,;= ü", "a@b.c:d": "100%", "o'neil": "x\ty", "ünï": "€uro"} {
		must(t, server.Do(t.Context(), "ACL", "SETUSER", user, "on", ">"+pw, "allkeys", "allchannels", "+@all").Err())
		u := url.URL{Scheme: "valkey", User: url.UserPassword(user, pw), Host: addr}
		for _, text := range []string{u.String(), "\ufeff" + u.String() + "\r\n"} {
			l, err := redlock.Open([]string{text}, redlock.WithoutRestartGuard())
			if err != nil {
				t.Errorf("%q: %v", text, err)
				continue
			}
			_, err = l.TryAcquire(t.Context(), fmt.Sprint(time.Now().UnixNano()))
			t.Logf("%q: %v", text, err)
			_ = l.Close(t.Context())
		}
	}
	for _, text := range []string{"[::1]:" + port, "redis://[::1]:" + port, "valkey://[::1]:" + port + "/", "localhost:" + port, "redis://[::ffff:127.0.0.1]:" + port, "redis://[::1%25lo]:" + port} {
		l, err := redlock.Open([]string{text}, redlock.WithoutRestartGuard())
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		_, err = l.TryAcquire(t.Context(), text)
		t.Logf("%q: %v", text, err)
		_ = l.Close(t.Context())
	}
	for _, text := range []string{sock, "unix://" + sock, "/var/run/redis.sock", "redis://ann:100%@r1", "redis://a/b:c@r1", "rediss+valkey://x", "redis://r1:6379#x", "redis://:@r1", "tcp://r1:6379", "redis:r1:6379", "redis:/r1", "redis//r1:6379", "r1:6379/0", "r1:6379:6379", "redis://user:pw@", "redis://r1:", "redis://r1:0", "redis://r1:99999", "redis://r_1:6379", "https://r1.upstash.io", "redis://r1:6379?timeout=3", "redis-cli -u redis://u:pw@r1:6379", "REDIS_URL=redis://u:pw@r1:6379", "${REDIS_URL}", "$REDIS_URL", "%REDIS_URL%", "<redis-host>:6379", "r1;r2;r3", "r1 r2", "[\"r1:6379\"]"} {
		_, err := redlock.Open([]string{text})
		t.Logf("%q: %v", text, err)
	}
	c := redis.NewClient(&redis.Options{Network: "unix", Addr: sock})
	closeAfter(t, c.Close)
	l := lockerOn(t, []redis.UniversalClient{c}, redlock.WithoutRestartGuard())
	_, err := l.TryAcquire(t.Context(), "unix")
	t.Log("unix:", err, l.Nodes(t.Context())[0])
	_ = os.Stdout
}
