package quorum_test

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

// What was not sent needs no cleaning, and what may have been done must not go without.
func TestNature_SaysWhetherTheNodeMayHaveActed(t *testing.T) {
	for _, c := range []struct {
		name     string
		fault    func(c *bubble.Cluster, client *redis.Options)
		first    bool // the fault is there when the node is first reached
		inspects bool
		nature   error
		text     string
	}{
		{name: "a refused dial", fault: func(c *bubble.Cluster, _ *redis.Options) { c.Cut() }, first: true,
			nature: quorum.ErrUnsent, text: "not sent: "},
		{name: "a dial without an answer", fault: func(_ *bubble.Cluster, client *redis.Options) {
			client.Dialer = func(context.Context, string, string) (net.Conn, error) {
				time.Sleep(time.Second) // go-redis goes on dialing when nobody waits for it
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
			}
		}, first: true, nature: quorum.ErrUnsent, text: "not sent: "},
		{name: "a hung inspection", fault: func(c *bubble.Cluster, _ *redis.Options) { c.Hang() }, first: true, inspects: true,
			nature: quorum.ErrUnsent, text: "not sent: the inspection before it failed: "},
		{name: "a hung node", fault: func(c *bubble.Cluster, _ *redis.Options) { c.Hang() },
			nature: quorum.ErrPerhapsDone, text: "perhaps done: "},
		{name: "a lost reply", fault: func(c *bubble.Cluster, _ *redis.Options) { c.DropReplies() },
			nature: quorum.ErrPerhapsDone, text: "perhaps done: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble.RunFresh(t, 1, func(t *testing.T, cluster *bubble.Cluster) {
				options := cluster.Links().Options(0)
				if c.first {
					c.fault(cluster, options)
				}
				q := startOn(cluster, options, c.inspects)
				if !c.first {
					if a, err := quorum.AskNode(t.Context(), q, 0, counting()); err != nil || a.Err != nil {
						t.Fatal(a.Err, err)
					}
					synctest.Wait()
					c.fault(cluster, options)
				}
				a := askUntilOver(t, q)
				if !errors.Is(a.Err, c.nature) || !strings.HasPrefix(a.Err.Error(), c.text) {
					t.Errorf("%v, want %v", a.Err, c.nature)
				}
				if errors.Is(a.Err, quorum.ErrUnsent) && errors.Is(a.Err, quorum.ErrPerhapsDone) {
					t.Errorf("%v has both natures", a.Err)
				}
			})
		})
	}
}

// Other users of the client may have all its connections. That is not the node's fault. The test runs in real time,
// because go-redis waits for a connection with timers that all bubbles share.
func TestNature_AFullPoolIsNotTheNodesFault(t *testing.T) {
	nodes := nodetest.Start(1)
	defer nodes.Close()
	options := nodes.Links().Options(0)
	options.PoolSize = 1
	client := redis.NewClient(options)
	q := quorum.New([]redis.UniversalClient{client}, nodes.Addrs(), config())
	other := client.Conn()
	if err := other.Ping(t.Context()).Err(); err != nil { // takes the connection
		t.Fatal(err)
	}
	if a := askUntilOver(t, q); !errors.Is(a.Err, quorum.ErrNoConnection) || errors.Is(a.Err, quorum.ErrPerhapsDone) {
		t.Errorf("%v, want %v", a.Err, quorum.ErrNoConnection)
	}
	_ = other.Close()
	if a := askUntilOver(t, q); a.Err != nil {
		t.Errorf("with a free connection: %v", a.Err)
	}
	if err := errors.Join(q.Close(context.Background()), client.Close()); err != nil {
		t.Error(err)
	}
}

var inspecting = quorum.NewScript("inspect", `return '1 1 a'`, func(*quorum.Reply) (string, error) {
	return "", nil
}).Command(1, nil, "n")

// startOn makes a Quorum of one node, with a client of its own. It is closed at the end.
func startOn(c *bubble.Cluster, options *redis.Options, inspects bool) *quorum.Quorum {
	client := redis.NewClient(options)
	c.T.Cleanup(func() {
		_ = client.Close()
		time.Sleep(time.Minute) // it keeps dialing for a while
	})
	config := config()
	if inspects {
		config.Inspection = quorum.NewInspection(inspecting.Call(nil),
			func(int, quorum.Answer[string]) error { return nil })
	}
	q := quorum.New([]redis.UniversalClient{client}, c.Addrs(), config)
	c.T.Cleanup(func() {
		c.Heal()
		if err := q.Close(context.Background()); err != nil {
			c.T.Error(err)
		}
	})
	return q
}

// askUntilOver asks the node, and waits until the call has ended, which may be after the timeout.
func askUntilOver(t *testing.T, q *quorum.Quorum) (over answer) {
	t.Helper()
	r := quorum.Prepare(q, 0, counting())
	r.Send()
	done := make(chan answer, 1)
	r.Then(func(_ int, a answer) { done <- a })
	select {
	case over = <-done:
	case <-time.After(time.Minute):
		t.Fatal("the call never ends")
	}
	return over
}
