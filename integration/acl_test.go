//go:build unix

package integration_test

import (
	"context"
	"errors"
	"regexp"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/redlock"
)

func TestAcquire_EndsAtOnceWithTheWordsOfAMajorityThatRefusesAndDoesWithoutAMinority(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 3)
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
			`ERR The user executing the script can't run this command|(NOPERM|ERR) ACL failure in script`},
		{"no second command of a script", "d", "pw", without(all, "+hmget"),
			`ERR The user executing the script can't run this command|(NOPERM|ERR) ACL failure in script`},
		{"other keys", "e", "pw", append(without(all, "~{redlock}"), "~{other}"),
			`NOPERM (this user has no permissions to access one of the|No permissions to access a) key`},
	} {
		if test.rights != nil {
			setUser(t, servers[0], test.user, test.rights)
			setUser(t, servers[1], test.user, test.rights)
			setUser(t, servers[2], test.user, all)
		}
		l := lockerAs(t, test.user, test.password, nodes)
		ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
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
		if test.password == "pw" {
			setUser(t, servers[1], test.user, all)
			setUser(t, servers[2], test.user, all)
			release(t, acquire(t, l, test.name))
		}
	}
}

func setUser(t *testing.T, server *redis.Client, user string, rights []string) {
	t.Helper()
	args := []any{"ACL", "SETUSER", user, "on", ">pw", "resetkeys", "resetchannels", "-@all"}
	for _, right := range rights {
		args = append(args, right)
	}
	must(t, server.Do(t.Context(), args...).Err())
}

// lockerAs makes a Locker that logs in as user.
func lockerAs(t *testing.T, user, password string, nodes *redisproc.Cluster, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	var all []redis.UniversalClient
	for _, addr := range nodes.Addrs() {
		all = append(all, clientAs(t, user, password, addr))
	}
	return lockerOn(t, all, append(opts, redlock.WithTTL(ttl), redlock.WithNodeTimeout(longTimeout))...)
}

func clientAs(t *testing.T, user, password, addr string) *redis.Client {
	t.Helper()
	options, err := redlock.ClientOptions("redis://" + user + ":" + password + "@" + addr)
	must(t, err)
	client := redis.NewClient(options)
	closeAfter(t, client.Close)
	return client
}
