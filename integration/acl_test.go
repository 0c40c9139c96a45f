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

// rights are all that a user needs. Without script|load it works too, with one more round trip for
// each script and node.
var rights = strings.Fields("~{redlock}:* " +
	"+client|setname +evalsha +eval +script|load +get +set +incr +del +pexpire +pttl")

func without(right string) []string {
	return slices.DeleteFunc(slices.Clone(rights), func(r string) bool { return r == right })
}

func TestAcquire_EndsAtOnceWithTheWordsOfServersThatRefuse(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 3)
	servers := admins(t, nodes.Addrs())
	for _, test := range []struct {
		name     string
		user     string
		password string
		rights   []string // on two of three nodes
		want     string
	}{
		{"unknown user", "nobody", "pw", nil, `WRONGPASS invalid username-password pair`},
		{"wrong password", "a", "wrong", rights, `WRONGPASS invalid username-password pair`},
		{"no scripts", "b", "pw", without("+evalsha"), `NOPERM [^;]* run the 'evalsha' command`},
		// The words are those of Redis 7.0, or those of later versions.
		{"no command of a script", "c", "pw", without("+get"),
			`ERR The user executing the script can't run this command|NOPERM ACL failure in script`},
		{"no second command of a script", "d", "pw", without("+incr"),
			`ERR The user executing the script can't run this command|NOPERM ACL failure in script`},
		{"other keys", "e", "pw", append(without("~{redlock}:*"), "~{other}:*"),
			`NOPERM (this user has no permissions to access one of the|No permissions to access a) key`},
	} {
		if test.rights != nil {
			setUser(t, servers[0], test.user, test.rights)
			setUser(t, servers[1], test.user, test.rights)
			setUser(t, servers[2], test.user, rights)
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
	t.Parallel()
	nodes := startNodes(t, 3)
	servers := admins(t, nodes.Addrs())
	setUser(t, servers[1], "locks", rights)
	setUser(t, servers[2], "locks", rights)

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
	t.Parallel()
	nodes := startNodes(t, 1)
	server := admins(t, nodes.Addrs())[0]
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
	setUser(t, server, "locks", without("+evalsha"))
	refusals(t, server, "NOPERM")
	setUser(t, server, "locks", append(without("+get"), "-get"))
	refusals(t, server, "ERR", "NOPERM")
	setUser(t, server, "locks", rights)
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

func TestRights_AreEnoughAndNoneTooMany(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 1)
	server := admins(t, nodes.Addrs())[0]
	for i, right := range append([]string{""}, rights...) {
		user := "user" + strconv.Itoa(i)
		setUser(t, server, user, without(right))
		if err := server.ScriptFlush(t.Context()).Err(); err != nil { // as on a new server
			t.Fatal(err)
		}
		err := useAll(t.Context(), openAs(t, user, "pw", nodes.Addrs()), user)
		if needless := right == "" || right == "+script|load"; (err == nil) != needless {
			t.Errorf("without %q: %v", right, err)
		}
	}
}

// useAll does everything that a Locker can ask a node for.
func useAll(ctx context.Context, l *redlock.Locker, name string) error {
	lease, err := l.TryAcquire(ctx, name)
	if err != nil {
		return err
	}
	_, heldErr := l.TryAcquire(ctx, name)
	if errors.Is(heldErr, redlock.ErrHeld) {
		heldErr = nil
	}
	_, holderErr := l.Holder(ctx, name)
	return errors.Join(heldErr, holderErr, lease.Extend(ctx), lease.Release(ctx))
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
	args := []any{"ACL", "SETUSER", user, "on", ">pw", "resetkeys", "-@all"}
	for _, right := range rights {
		args = append(args, right)
	}
	if err := server.Do(t.Context(), args...).Err(); err != nil {
		t.Fatal(err)
	}
}

// openAs makes a Locker, closed after the test, that logs in as user.
func openAs(t *testing.T, user, password string, addrs []string) *redlock.Locker {
	t.Helper()
	var urls []string
	for _, addr := range addrs {
		urls = append(urls, "redis://"+user+":"+password+"@"+addr)
	}
	l, err := redlock.Open(urls, redlock.WithTTL(longTTL), redlock.WithNodeTimeout(longTimeout))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), nodeTimeout)
		defer cancel()
		_ = l.Close(ctx) // a server that refuses cannot be cleaned up
	})
	return l
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
