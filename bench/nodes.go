package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/records"
)

// inside are the commands that only our scripts call, and those with which this program inspects the nodes.
var inside = strings.Fields(`get set incr del pexpire pexpireat pttl hget hmget hset hgetall hdel hkeys hlen zadd
	hscan zrangebylex zrevrangebyscore time publish info scan memory|usage pubsub pubsub|numsub`)

// command is how often a node has run a command since its start, and for how long.
type command struct{ calls, micros int }

var statistics = regexp.MustCompile(`cmdstat_(\S+):calls=(\d+),usec=(\d+),`)

// commands returns these counts, by node and command.
func (b *bench) commands(ctx context.Context) []map[string]command {
	all := make([]map[string]command, nodes)
	for i, admin := range b.admins {
		all[i] = make(map[string]command)
		for _, found := range statistics.FindAllStringSubmatch(must(admin.Info(ctx, "commandstats").Result()), -1) {
			all[i][found[1]] = command{must(strconv.Atoi(found[2])), must(strconv.Atoi(found[3]))}
		}
	}
	return all
}

// requests returns how many commands Lockers have sent to each node so far, including those that open and keep
// connections.
func (b *bench) requests(ctx context.Context) (counts []int) {
	counts = make([]int, nodes)
	for i, done := range b.commands(ctx) {
		for name, c := range done {
			if !slices.Contains(inside, name) {
				counts[i] += c.calls
			}
		}
	}
	return counts
}

// requestsDuring returns how many requests all nodes together, and the busiest one, received while fn ran.
func (b *bench) requestsDuring(ctx context.Context, fn func()) (sum, most int) {
	before := b.requests(ctx)
	fn()
	for i, n := range b.requests(ctx) {
		sum += n - before[i]
		most = max(most, n-before[i])
	}
	return sum, most
}

// quiet waits until the nodes receive almost no requests, and returns since when.
func (b *bench) quiet(ctx context.Context) time.Time {
	for {
		check(context.Cause(ctx))
		since := time.Now()
		if sent, _ := b.requestsDuring(ctx, func() { time.Sleep(time.Second) }); sent < 20 {
			return since
		}
	}
}

// waiting waits until the nodes know at least this many waiters for a lock.
func (b *bench) waiting(ctx context.Context, name string, waiters int) error {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	for there := make(map[string]bool); len(there) < waiters; time.Sleep(time.Millisecond) {
		clear(there)
		for _, admin := range b.admins {
			listed, err := records.Default.WaitingOn(ctx, name, admin)
			if err = errors.Join(err, context.Cause(ctx)); err != nil {
				return fmt.Errorf("%d of %d waiters for %q: %w", len(there), waiters, name, err)
			}
			for _, who := range listed {
				there[who] = true
			}
		}
	}
	return nil
}

// freeAt returns when a lock expires on a majority of nodes. The result is too early by the time that an answer
// travels.
func (b *bench) freeAt(ctx context.Context, name string) time.Time {
	ends := make([]time.Time, nodes)
	check(each(nodes, nodes, func(i int) error {
		asked := time.Now()
		left, err := records.Default.LeftOn(ctx, name, b.admins[i])
		ends[i] = asked.Add(max(left, 0))
		return err
	}))
	slices.SortFunc(ends, time.Time.Compare)
	return ends[nodes/2]
}

// processorTime returns the processor time that this process has used so far.
func processorTime() time.Duration {
	var used syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// processorTimeOfANode returns the processor time that the first node has used so far.
func (b *bench) processorTimeOfANode(ctx context.Context) time.Duration {
	used := must(b.admins[0].InfoMap(ctx, "cpu").Result())["CPU"]
	seconds := must(strconv.ParseFloat(used["used_cpu_user"], 64)) + must(strconv.ParseFloat(used["used_cpu_sys"], 64))
	return time.Duration(seconds * float64(time.Second))
}
