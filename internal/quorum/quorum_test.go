package quorum_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

const timeout = 200 * time.Millisecond

// count counts the calls. One command may carry any number of them.
var count = quorum.NewScript("count", `
local line = '1 1 a'
for i = 1, #ARGV do
  line = line .. ' y' .. redis.call('INCR', KEYS[1])
end
return line`, func(r *quorum.Reply) (int64, error) {
	_, n, _, err := r.Item()
	return n, err
})

var together = count.Command(100, nil, "n")

// one is the argument of a call.
type one struct{}

func (one) AppendArgs(_ int, args []any) []any { return append(args, 1) }

type answer = quorum.Answer[int64]

func config() quorum.Config {
	return quorum.Config{Timeout: timeout, Now: time.Now, Scripts: []*quorum.Source{count.Source}}
}

func counting() quorum.Call[int64] { return together.Call(one{}) }

func all(answers []answer) bool { return over(answers) == len(answers) }

func over(answers []answer) int {
	n := 0
	for _, a := range answers {
		if a.Over {
			n++
		}
	}
	return n
}

// inBubble runs test in a bubble with a Quorum of n nodes, which know its script.
func inBubble(t *testing.T, n int, test func(t *testing.T, q *quorum.Quorum, c *bubble.Cluster)) {
	t.Helper()
	bubble.RunFresh(t, n, func(t *testing.T, c *bubble.Cluster) {
		q := start(c, config())
		if _, err := quorum.Ask(t.Context(), q, counting(), all); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		test(t, q, c)
	})
}

// start makes a Quorum of the nodes, which is closed at the end of the test.
func start(c *bubble.Cluster, config quorum.Config) *quorum.Quorum {
	q := quorum.New(c.Links().Clients(), c.Addrs(), config)
	c.T.Cleanup(func() {
		c.Heal() // Close waits for calls to nodes that may hang
		if err := q.Close(context.Background()); err != nil {
			c.T.Error(err)
		}
	})
	return q
}

// askNode asks the first node, and waits no longer than a caller does.
func askNode(t *testing.T, q *quorum.Quorum, call quorum.Call[int64]) (answer, error) {
	t.Helper()
	r := quorum.Prepare(q, 0, call)
	r.Send()
	err := r.Wait(t.Context())
	return r.Answer(0), err
}

func TestAsk_ReturnsWhenTheOutcomeIsDecided(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, q *quorum.Quorum, c *bubble.Cluster) {
		for i := range 5 {
			c.Delay(time.Duration(i+1)*5*time.Millisecond, i)
		}
		began := time.Now()
		r, err := quorum.Ask(t.Context(), q, counting(), func(a []answer) bool { return over(a) == 3 })
		if err != nil || time.Since(began) != 30*time.Millisecond || over(r.Answers()) != 3 {
			t.Errorf("after %v with %d answers: %v", time.Since(began), over(r.Answers()), err)
		}
		if a := r.Answers()[4]; a.Over || !errors.Is(a.Err, quorum.ErrNoAnswer) {
			t.Errorf("the slowest answered %+v", a)
		} else if got := a.Err.Error(); got != "not waited for: the other nodes had decided the outcome" {
			t.Errorf("the slowest has the error %q", got)
		}
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		if got := over(r.Answers()); got != 5 {
			t.Errorf("%d answers in the end: a call that was sent must not be cut off", got)
		}
	})
}

// askImpatiently asks with a context that is canceled after a millisecond, and wants the call to end with it.
func askImpatiently(t *testing.T, q *quorum.Quorum) *quorum.Round[int64] {
	t.Helper()
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Millisecond, func() { cancel(enough) })
	began := time.Now()
	r, err := quorum.Ask(ctx, q, counting(), all)
	if !errors.Is(err, enough) || time.Since(began) != time.Millisecond {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	return r
}

func TestAsk_EndsWithItsContextButNotTheCalls(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, q *quorum.Quorum, c *bubble.Cluster) {
		c.Delay(50 * time.Millisecond)
		r := askImpatiently(t, q)
		time.Sleep(timeout)
		synctest.Wait()
		for i, a := range r.Answers() {
			if a.Value != 2 {
				t.Errorf("node %d: %+v", i, a)
			}
		}
	})
}

func TestThen_SeesEveryAnswerOnce(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, q *quorum.Quorum, c *bubble.Cluster) {
		c.Delay(20*time.Millisecond, 2)
		r, _ := quorum.Ask(t.Context(), q, counting(), func(a []answer) bool { return over(a) == 2 })
		var seen atomic.Int32
		r.Then(func(node int, a answer) {
			if a.Value != 2 {
				t.Errorf("node %d: %+v", node, a)
			}
			seen.Add(1)
		})
		if got := seen.Load(); got != 2 {
			t.Errorf("%d answers at once", got)
		}
		time.Sleep(timeout)
		synctest.Wait()
		if got := seen.Load(); got != 3 {
			t.Errorf("%d answers in all", got)
		}
	})
}

// hung is a client that honors neither context nor timeout while its node hangs.
type hung struct {
	redis.UniversalClient
	awake    chan struct{}
	inFlight atomic.Int32
}

func (h *hung) Process(context.Context, redis.Cmder) error {
	h.inFlight.Add(1)
	<-h.awake
	return nil
}

func TestNode_ThatHangsCostsAConstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &hung{awake: make(chan struct{})}
		q := quorum.New([]redis.UniversalClient{client}, []string{"a:1"}, config())
		before := runtime.NumGoroutine()
		var unsent atomic.Int32
		for range 200 {
			began := time.Now()
			r, err := quorum.Ask(t.Context(), q, counting(), all)
			if err != nil || time.Since(began) != timeout {
				t.Fatalf("after %v: %v", time.Since(began), err)
			}
			r.Then(func(_ int, a answer) {
				if errors.Is(a.Err, quorum.ErrUnsent) {
					unsent.Add(1)
				}
			})
		}
		if got := runtime.NumGoroutine() - before; got > 1 || client.inFlight.Load() > 1 {
			t.Errorf("%d goroutines and %d calls wait for one node", got, client.inFlight.Load())
		}
		close(client.awake)
		if err := q.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := unsent.Load(); got != 199 {
			t.Errorf("%d of 200 calls were never sent, want all but one", got)
		}
	})
}

// Each call that times out costs a connection, on both sides. A node that is too slow must not take more of them than
// needed to notice that it has recovered.
func TestNode_ThatDoesNotAnswerIsAskedOnceAtATime(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, q *quorum.Quorum, c *bubble.Cluster) {
		c.Delay(timeout)
		if _, err := askNode(t, q, counting()); err != nil {
			t.Fatal(err)
		}
		before, began := c.Node(0).TotalConnectionCount(), time.Now()
		var callers sync.WaitGroup
		for range 10 {
			callers.Go(func() {
				for time.Since(began) < 20*timeout {
					_, _ = askNode(t, q, counting()) // no answer is expected
				}
			})
		}
		callers.Wait()
		if got := c.Node(0).TotalConnectionCount() - before; got > 45 {
			t.Errorf("%d connections in the time of 20 calls", got)
		}
		c.Heal()
		time.Sleep(2 * timeout)
		if a, err := askNode(t, q, counting()); err != nil || a.Err != nil {
			t.Errorf("when it answers again: %+v, %v", a, err)
		}
	})
}

// A pool that has failed to dial as often as it is large dials on once a second, in the background and for longer than
// anybody needs.
func TestNode_ThatRefusesIsDialedOnceACall(t *testing.T) {
	bubble.RunFresh(t, 1, func(t *testing.T, c *bubble.Cluster) {
		dials := 0
		options := c.Links().Options(0)
		dial := options.Dialer
		options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials++
			return dial(ctx, network, addr)
		}
		client := redis.NewClient(options)
		defer client.Close()
		q := quorum.New([]redis.UniversalClient{client}, c.Addrs(), config())
		c.Cut(0)
		for range 20 {
			if a, err := askNode(t, q, counting()); err != nil || !errors.Is(a.Err, quorum.ErrUnsent) {
				t.Errorf("%+v, %v", a, err)
			}
		}
		if err := q.Close(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Second)
		if dials != 20 {
			t.Errorf("dialed %d times for 20 calls", dials)
		}
	})
}

func TestNode_CallsThatWaitTravelTogether(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, q *quorum.Quorum, c *bubble.Cluster) {
		c.Delay(5 * time.Millisecond)
		const callers = 300
		done := make(chan any)
		began := time.Now()
		for range callers {
			go func() { // ends with its reply, which is received below
				r, _ := quorum.Ask(t.Context(), q, counting(), all)
				done <- r.Answers()[0].Value
			}()
		}
		seen := make(map[any]bool)
		for range callers {
			seen[<-done] = true
		}
		if len(seen) != callers {
			t.Errorf("%d different replies", len(seen))
		}
		// Four at a time, and one by one, they would take 75 round trips of 10 ms.
		if took := time.Since(began); took > 60*time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
}

// A node that does not answer in time may be overloaded: it is not sent scripts that it has.
func TestNode_GetsAScriptWhenItLacksIt(t *testing.T) {
	bubble.RunFresh(t, 1, func(t *testing.T, c *bubble.Cluster) {
		config := config()
		look := quorum.NewScript("look", "return '1 1 -'", func(*quorum.Reply) (int64, error) { return 0, nil })
		inspected := 0
		config.Inspection = quorum.NewInspection(look.Command(1, nil, "n").Call(nil),
			func(int, answer) error { inspected++; return nil }, nil)
		q := start(c, config)
		requests := func() int {
			before := c.Requests(0)
			if a, err := askNode(t, q, counting()); err != nil || a.Err != nil {
				t.Fatal(a, err)
			}
			return c.Requests(0) - before
		}
		if got := requests(); got != 4 { // the inspection and the call, each by its hash and then with its script
			t.Errorf("%d requests when it is first reached, want 4", got)
		}
		c.Hang(0)
		if a, err := askNode(t, q, counting()); err != nil || a.Err == nil {
			t.Fatal(a, err)
		}
		synctest.Wait()
		c.Heal()
		if got := requests(); got != 2 || inspected != 2 {
			t.Errorf("%d requests after it was silent, inspected %d times, want 2 and 2", got, inspected)
		}
		c.FlushScripts(0)
		q.Inspect(0)
		if got := requests(); got != 4 || inspected != 3 {
			t.Errorf("%d requests after it had lost its scripts, inspected %d times, want 4 and 3", got, inspected)
		}
	})
}

func TestClose_RefusesFurtherCallsAndNamesThoseUnderWay(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, q *quorum.Quorum, c *bubble.Cluster) {
		c.Hang(1)
		if _, err := quorum.Ask(t.Context(), q, counting(), func(a []answer) bool { return over(a) == 1 }); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		err := q.Close(ctx)
		if err == nil || !strings.Contains(err.Error(), c.Addrs()[1]) || strings.Contains(err.Error(), c.Addrs()[0]) {
			t.Errorf("Close: %v", err)
		}
		r, err := quorum.Ask(t.Context(), q, counting(), all)
		if err != nil || !errors.Is(r.Answers()[0].Err, quorum.ErrClosed) {
			t.Errorf("after Close: %v, %v", r.Answers(), err)
		}
	})
}
