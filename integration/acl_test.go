//go:build unix

package integration_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
)

func TestAcquire_EndsAtOnceWithTheWordsOfServersThatRefuse(t *testing.T) {
	nodes := startNodes(t, 3)
	t.Parallel()
	servers, all := admins(t, nodes.Addrs()), rights(t)
	for _, test := range []struct {
		name     string
		user     string
		password string
		rights   []string // on two of three nodes
		want     string
	}{
		{"unknown user", "nobody", "pw", nil, `WRONGPASS invalid username-password pair`},
		{"wrong password", "a", "wrong", all, `WRONGPASS invalid username-password pair`},
		{"no scripts", "b", "pw", without(all, "+evalsha"), `NOPERM [^;]* run the 'evalsha' command`},
		// The words are those of Redis 7.0, or those of later versions.
		{"no command of a script", "c", "pw", without(all, "+time"),
			`ERR The user executing the script can't run this command|NOPERM ACL failure in script`},
		{"no second command of a script", "d", "pw", without(all, "+hmget"),
			`ERR The user executing the script can't run this command|NOPERM ACL failure in script`},
		{"other keys", "e", "pw", append(without(all, "~{redlock}:*"), "~{other}:*"),
			`NOPERM (this user has no permissions to access one of the|No permissions to access a) key`},
	} {
		if test.rights != nil {
			setUser(t, servers[0], test.user, test.rights)
			setUser(t, servers[1], test.user, test.rights)
			setUser(t, servers[2], test.user, all)
		}
		l := openAs(t, test.user, test.password, nodes.Addrs())
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := l.Acquire(ctx, test.name)
		cancel()
		if !errors.Is(err, redlock.ErrNoQuorum) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v, want that there is no quorum, and not because time is over",
				test.name, err)
			continue
		}
		want := regexp.MustCompile(`127\.0\.0\.1:\d+: (` + test.want + ")")
		if n := len(want.FindAllString(err.Error(), -1)); n < 2 {
			t.Errorf("%s: got %v, want %v of a majority", test.name, err, want)
		}
	}
}

func TestAcquire_DoesWithoutAMinorityThatRefuses(t *testing.T) {
	nodes := startNodes(t, 3)
	t.Parallel()
	servers, all := admins(t, nodes.Addrs()), rights(t)
	setUser(t, servers[1], "locks", all)
	setUser(t, servers[2], "locks", all)
	waitForGuards(t, nodes)

	lease, err := openAs(t, "locks", "pw", nodes.Addrs()).TryAcquire(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// A single node changes its mind at one instant, so the causes are one after the other.
func TestRun_CampaignsOnAndLogsEachCauseOnceWhileTheServerRefuses(t *testing.T) {
	nodes := startNodes(t, 1)
	t.Parallel()
	waitForGuards(t, nodes)
	server, all := admins(t, nodes.Addrs())[0], rights(t)
	core, logs := observer.New(zap.InfoLevel)
	led := make(chan struct{})
	e, err := election.New(openAs(t, "locks", "pw", nodes.Addrs()), "x",
		election.WithLogger(zap.New(core)),
		election.WithBackoff(10*time.Millisecond, 50*time.Millisecond),
		election.OnLeader(func(context.Context) { close(led) }))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error)
	go func() { ran <- e.Run(ctx) }() // ends with ctx, and is received below

	refusals(t, server, "WRONGPASS")
	setUser(t, server, "locks", without(all, "+evalsha"))
	refusals(t, server, "NOPERM")
	setUser(t, server, "locks", without(all, "+get"))
	refusals(t, server, "ERR", "NOPERM")
	setUser(t, server, "locks", all)
	select {
	case <-led:
	case <-time.After(patience):
		t.Error("it did not lead when it had all rights")
	}
	entries := logs.All()
	stop()
	if err := <-ran; err != nil {
		t.Error(err)
	}

	var lines []string
	for _, entry := range entries {
		lines = append(lines, fmt.Sprint(entry.Message, " ", entry.ContextMap()["error"]))
	}
	want := []string{
		"campaign failed .* WRONGPASS", "campaign failed .* NOPERM",
		"campaign failed .* (The user executing|ACL failure)", "won",
	}
	if !slices.EqualFunc(lines, want, func(line, pattern string) bool {
		return regexp.MustCompile(pattern).MatchString(line)
	}) {
		t.Errorf("log:\n%s\nwant:\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

func admins(t *testing.T, addrs []string) []*redis.Client {
	t.Helper()
	var clients []*redis.Client
	for _, addr := range addrs {
		client := redis.NewClient(&redis.Options{Addr: addr})
		t.Cleanup(func() { client.Close() })
		clients = append(clients, client)
	}
	return clients
}

func setUser(t *testing.T, server *redis.Client, user string, rights []string) {
	t.Helper()
	args := []any{"ACL", "SETUSER", user, "on", ">pw", "resetkeys", "resetchannels", "-@all"}
	for _, right := range rights {
		args = append(args, right)
	}
	if err := server.Do(t.Context(), args...).Err(); err != nil {
		t.Fatal(err)
	}
}

// openAs makes a Locker that logs in as user.
func openAs(t *testing.T, user, password string, addrs []string) *redlock.Locker {
	t.Helper()
	var urls []string
	for _, addr := range addrs {
		urls = append(urls, "redis://"+user+":"+password+"@"+addr)
	}
	return open(t, urls)
}

// refusals waits until the server has refused ten more times with one of the codes.
func refusals(t *testing.T, server *redis.Client, codes ...string) {
	t.Helper()
	count := func() (n int) {
		stats, err := server.InfoMap(t.Context(), "errorstats").Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range codes {
			count, _ := strings.CutPrefix(stats["Errorstats"]["errorstat_"+code], "count=")
			of, _ := strconv.Atoi(count) // 0 of a code that it has not used yet
			n += of
		}
		return n
	}
	first := count()
	poll(t, fmt.Sprintf("ten answers of %v", codes), func() bool { return count() >= first+10 })
}
