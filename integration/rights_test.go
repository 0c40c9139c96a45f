//go:build unix

package integration_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/election/termlog"
	"github.com/redlockfx/redlockfx/internal/guard"
	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// rights are the rights that docs/operations.md gives to a user.
func rights(t *testing.T) []string {
	t.Helper()
	return aclLine(t, `reset on >password`)
}

// jobRights are the additional rights that jobs need.
func jobRights(t *testing.T) []string {
	t.Helper()
	return append(rights(t), aclLine(t, "")...)
}

func aclLine(t *testing.T, begin string) []string {
	t.Helper()
	text, err := os.ReadFile("../docs/operations.md")
	must(t, err)
	line := regexp.MustCompile(`(?m)^ +ACL SETUSER locks ` + begin + ` ?([+~].+)$`).FindSubmatch(text)
	if line == nil {
		t.Fatal("docs/operations.md does not say what rights a user needs")
	}
	return strings.Fields(string(line[1]))
}

func without(rights []string, right string) []string {
	return slices.DeleteFunc(slices.Clone(rights), func(r string) bool { return r == right })
}

// spares are the rights that a Locker does not need, and what it reports without them.
var spares = map[string][]string{
	"none":            nil,
	"+client|setname": nil,                                // its connections have no name
	"+script|load":    nil,                                // it sends each script once more
	"+pubsub|numsub":  nil,                                // processes that watch are notified in any case
	"&{redlock}:*":    {"subscribe: NOPERM .* channels?"}, // so nobody is there to publish to
	"+hscan":          {"sweep: old records are not removed"},
	"+hdel":           {"sweep: old records are not removed"},
	"+publish":        {"publish: PUBLISH is not permitted"},
	"+subscribe":      {"subscribe: NOPERM .* 'subscribe'"},
	"+unsubscribe":    {"subscribe: NOPERM .* 'unsubscribe'"},
}

var denied = regexp.MustCompile(
	"NOPERM|The user executing the script can't|ACL failure in script|scripts may not call INFO")

func TestRights_AreEnoughAndNoneTooMany(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 1)
	for i, right := range append([]string{"none"}, rights(t)...) {
		t.Run("without "+right, func(t *testing.T) {
			reported, spare := spares[right]
			lack{right, spare, reported, nil}.check(t, nodes, fmt.Sprint("user", i))
		})
	}
	t.Run("with the number of a database", func(t *testing.T) {
		server := admins(t, nodes.Addrs())[0]
		take := func(user string) error {
			options, err := redlock.ClientOptions("redis://" + user + ":pw@" + nodes.Addrs()[0] + "/3")
			must(t, err)
			client := redis.NewClient(options)
			closeAfter(t, client.Close)
			l := lockerOn(t, []redis.UniversalClient{client}, redlock.WithTTL(10*longTimeout), redlock.WithNodeTimeout(longTimeout))
			_, err = l.TryAcquire(t.Context(), "x")
			return err
		}
		setUser(t, server, "numberless", rights(t))
		want.Text(t, take("numberless"), "NOPERM", "select")
		setUser(t, server, "numbered", append(rights(t), "+select"))
		want.Err(t, take("numbered"), redlock.ErrGuarded) // the database is new
	})
	t.Run("without +info but with consent", func(t *testing.T) {
		reported := []string{"inspect: INFO is not permitted"}
		lack{"+info", true, reported, []redlock.Option{redlock.WithUnseenRestarts()}}.check(t, nodes, "consenting")
	})
}

// lack is a right that a user does not have.
type lack struct {
	right    string
	works    bool     // everything works without it
	reported []string // as wrong with the node, if everything works
	opts     []redlock.Option
}

func (c lack) check(t *testing.T, nodes *redisproc.Cluster, user string) {
	t.Helper()
	server := admins(t, nodes.Addrs())[0]
	setUser(t, server, user, without(rights(t), c.right))
	// As on a new server, when the guard has to be written again, and when there are records that nobody needs.
	must(t, server.ScriptFlush(t.Context()).Err())
	records.Default.Unused(t, server)
	records.Default.Fill(t, "old", 200, "", -24*time.Hour, server)
	before := calls(t, server, "eval")
	var reported complaints
	l := reported.of(lockerAs(t, user, "pw", nodes, c.opts...))
	err := useAll(t, l, server, &reported, user)

	if asked := denials(t, server, user) > 0; asked == (c.right == "none") {
		t.Errorf("it asked for what it may not: %v", asked)
	}
	if !c.works {
		if err == nil || !denied.MatchString(err.Error()) {
			t.Errorf("got %v, want an error that says what is not permitted", err)
		}
		return
	}
	if err != nil {
		t.Errorf("it does not work: %v", err)
	}
	wantReported(t, &reported, c.reported...)
	if twice := calls(t, server, "eval")-before > 1; twice != (c.right == "+script|load") {
		t.Errorf("more than one script was sent on its own: %v", twice)
	}
	if n := l.Nodes(t.Context())[0]; n.Err != nil || n.Role == "" != (c.right == "+info") {
		t.Errorf("the node is %+v", n)
	}
}

// useAll does everything that a Locker can ask a node for.
func useAll(t *testing.T, l *redlock.Locker, server *redis.Client, reported *complaints, user string) error {
	t.Helper()
	ctx := t.Context()
	var leases []*redlock.Lease
	for i := range 40 { // more than there are before a sweep
		lease, err := l.TryAcquire(ctx, fmt.Sprint(user, ".", i))
		if err != nil {
			return err
		}
		leases = append(leases, lease)
	}
	_, holderErr := l.Holder(ctx, leases[0].Name())
	errs := []error{holderErr, leases[0].Extend(ctx)}

	// A waiting call gets the lock in the end, even without a notification.
	const short = 500 * time.Millisecond
	for range 2 {
		ctx, cancel := context.WithTimeout(ctx, waitLimit)
		_, err := l.Acquire(ctx, user, redlock.WithLeaseTTL(short))
		cancel()
		errs = append(errs, err)
	}

	// It unsubscribes from a name that nobody watches any more, and keeps its own channel.
	listening := func() int {
		channels, err := server.PubSubChannels(ctx, records.Default.Channel(user+".*")).Result()
		must(t, err)
		return len(channels)
	}
	deaf := func() bool {
		return strings.Contains(strings.Join(reported.sorted(), "\n"), "subscribe: ")
	}
	errs = append(errs, watch(t, l, leases[0], func() bool { return listening() == 1 || deaf() }))
	poll(t, "end of listening", func() bool { return listening() == 0 || deaf() })

	for _, lease := range leases[1:] {
		errs = append(errs, lease.Release(ctx))
	}
	return errors.Join(errs...)
}

// watch watches the lock until so returns true, and then releases it.
func watch(t *testing.T, l *redlock.Locker, held *redlock.Lease, so func() bool) error {
	t.Helper()
	defer inside.Of(l).OnHolder(held.Name(), func(inside.Holder) {})()
	poll(t, "watcher", so)
	return held.Release(t.Context())
}

// denials returns how often the server has refused the user something.
func denials(t *testing.T, server *redis.Client, user string) (n int) {
	t.Helper()
	entries, err := server.ACLLog(t.Context(), 1000).Result()
	must(t, err)
	for _, entry := range entries {
		if entry.Username == user {
			n += int(entry.Count)
		}
	}
	return n
}

// calls returns how often the server was asked for a command.
func calls(t *testing.T, server *redis.Client, command string) int {
	t.Helper()
	stats, err := server.InfoMap(t.Context(), "commandstats").Result()
	must(t, err)
	var n int
	_, _ = fmt.Sscanf(stats["Commandstats"]["cmdstat_"+command], "calls=%d", &n) // 0 of one not used yet
	return n
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

func TestJobRights_AreEnoughAndNoneTooMany(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 1)
	server, all := admins(t, nodes.Addrs())[0], jobRights(t)
	for i, right := range append([]string{"none"}, aclLine(t, "")...) {
		t.Run("without "+right, func(t *testing.T) {
			t.Parallel()
			user := fmt.Sprint("user", i)
			setUser(t, server, user, without(all, right))
			err := useJobs(t, jobsAs(t, user, nodes, user))
			if right == "none" && err != nil || right != "none" && (err == nil || !denied.MatchString(err.Error())) {
				t.Errorf("got %v", err)
			}
			if asked := denials(t, server, user) > 0; asked == (right == "none") {
				t.Errorf("it asked for what it may not: %v", asked)
			}
		})
	}
}

// jobsAs returns the jobs of an election, for a user.
func jobsAs(t *testing.T, user string, nodes *redisproc.Cluster, election string) *jobstore.Store {
	t.Helper()
	client := clientAs(t, user, "pw", nodes.Addrs()[0])
	q := quorum.New([]redis.UniversalClient{client}, nodes.Addrs(),
		quorum.Config{Timeout: longTimeout, Now: time.Now})
	closeAfter(t, func() error { return q.Close(context.Background()) })
	list := func(ctx context.Context) string { // with the label that the node serves
		state, _ := guard.Parse(client.HGet(ctx, "{redlock}", guard.Field).Val())
		return fmt.Sprintf("%012d %16s", ttl.Milliseconds(), state.Label)
	}
	return jobstore.New(jobstore.Config{Quorum: q, Prefix: "redlock", Election: election, List: list})
}

// useJobs makes every request that jobs need. It makes enough runs that the oldest rows of the history are dropped.
func useJobs(t *testing.T, s *jobstore.Store) error {
	t.Helper()
	const job, ticks = "report", 62
	ctx := t.Context()
	leader := jobstore.Leader{Token: 1, Replica: "me"}
	ballot := jobstore.NewBallot(0, time.Now())
	_, err := s.Prepare(ctx, ballot, leader, []string{job})
	if errors.Is(err, jobstore.ErrYoung) { // a young node serves only later ballots
		time.Sleep(jobstore.Ahead)
		ballot = jobstore.NewBallot(0, time.Now())
		_, err = s.Prepare(ctx, ballot, leader, []string{job})
	}
	if err != nil {
		return err
	}
	var errs []error
	for i := range ticks {
		now := time.Now()
		follows := jobstore.At{Ballot: ballot, Seq: i}
		if i == 10 {
			follows.Seq-- // for the leader, the write before has failed
		}
		row := jobstore.Record{Slot: jobstore.Slot{At: now}, ID: fmt.Sprint("run", i), State: jobstore.StateOK, Start: now, End: now}
		written, _ := s.Write(ctx, ballot, i+1, []*jobstore.Write{{
			Job: job, Follows: follows, State: &jobstore.State{Since: now, Plan: "CRON_TZ=UTC 0 0 * * * *", Mark: now},
			Ended: []jobstore.Record{row},
		}}, func(int, []int, int) {})
		errs = append(errs, written...)
	}
	for range 2 {
		asked, triggerErr := s.Ask(ctx, job, jobstore.Request{Verb: jobstore.ToTrigger}, nil)
		_, pauseErr := s.Ask(ctx, job, jobstore.Request{Verb: jobstore.ToPause, Setting: jobstore.Setting{On: true}}, nil)
		tasks := []jobstore.Task{{Job: job, Request: asked}}
		_, pollErr := s.Poll(ctx, ballot, jobstore.Settled, false, tasks, tasks)
		errs = append(errs, triggerErr, pauseErr, pollErr)
	}
	_, pageErr := s.Page(ctx, "", 10)
	rows, historyErr := s.History(ctx, job, 100)
	if historyErr == nil && len(rows) >= ticks {
		errs = append(errs, fmt.Errorf("%d rows are kept", len(rows)))
	}
	other := jobstore.NewBallot(0, time.Now()) // of a leader without the job
	_, promiseErr := s.Prepare(ctx, other, jobstore.Leader{Token: 2, Replica: "other"}, nil)
	_, settledErr := s.Poll(ctx, other, jobstore.Settled, false, nil, nil)
	forgetErr := s.Forget(ctx, job, time.Minute)
	errs = append(errs, pageErr, historyErr, promiseErr, settledErr, forgetErr)
	return errors.Join(errs...)
}

// termRights are the rights in docs/operations.md for a user who records terms.
func termRights(t *testing.T) []string {
	t.Helper()
	const keys = "~{redlock}:terms:*"
	return append([]string{keys}, aclLine(t, `~\{redlock\}:terms:\*`)...)
}

// An election needs none of these rights. If one is missing, a replica leads all the same, and only a call for the
// terms returns an error.
func TestTermRights_AreEnoughNoneTooManyAndSpare(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 1)
	server, all := admins(t, nodes.Addrs())[0], termRights(t)
	for i, right := range append([]string{"none"}, all...) {
		t.Run("without "+right, func(t *testing.T) {
			t.Parallel()
			user := fmt.Sprint("leader", i)
			setUser(t, server, user, append(rights(t), without(all, right)...))
			var reported complaints
			l := reported.of(lockerAs(t, user, "pw", nodes))
			e, err := election.New(l, user, election.WithHooks(termlog.Hooks()))
			must(t, err)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- e.Run(ctx) }() // ends with stop, and is received below
			poll(t, "leader", e.IsLeader)
			terms, err := termlog.Read(t.Context(), l, user)
			if right == "none" {
				poll(t, "record", func() bool {
					terms, err = termlog.Read(t.Context(), l, user)
					return err != nil || len(terms) == 1
				})
			} else {
				poll(t, "denial", func() bool { return denials(t, server, user) > 0 })
			}
			if err != nil && (!errors.Is(err, redlock.ErrNoQuorum) || !denied.MatchString(err.Error())) {
				t.Errorf("got %v", err)
			}
			if asked := denials(t, server, user) > 0; asked == (right == "none") || right == "none" && err != nil {
				t.Errorf("%v; it asked for what it may not: %v", err, asked)
			}
			if !e.IsLeader() {
				t.Error("it does not lead")
			}
			stop()
			must(t, <-ended)
			wantReported(t, &reported)
		})
	}
}
