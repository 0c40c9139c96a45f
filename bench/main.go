// Bench measures packages redlock, election and scheduler on five redis-server processes that it starts. Some rows
// compare them with redsync and rueidislock. It exits with status 1 if a requirement is missed. README.md explains each
// row.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

// nodes is the number of nodes. Most limits are for five.
var nodes = five

// nodesVariable is the environment variable that passes the number on to processes that this program starts.
const nodesVariable = "REDLOCKFX_BENCH_NODES"

const (
	five     = 5
	maxTime  = 90 * time.Minute // for all rows together, far above what they take
	settling = 500 * time.Millisecond
	closing  = 20 * time.Second // for all peers of a row together
)

// bench is what the rows share.
type bench struct {
	cluster  *redisproc.Cluster
	admins   []redis.UniversalClient // one per node, to inspect it
	peers    []peer                  // opened by the row; closed after it
	clusters []*redisproc.Cluster    // started by the row; closed after the peers
	divisor  int                     // divides the numbers of jobs
	report   report
}

// divided returns the number of jobs that stands for n.
func (b *bench) divided(n int) int { return max(n/b.divisor, 1) }

func main() {
	if n, err := strconv.Atoi(os.Getenv(nodesVariable)); err == nil {
		nodes = n
	}
	if variable := os.Getenv(leadersVariable); variable != "" {
		beLeaders(context.Background(), variable)
		return
	}
	if variable := os.Getenv(waiterVariable); variable != "" {
		beWaiter(context.Background(), variable)
		return
	}
	if os.Getenv(spinnerVariable) != "" {
		beSpinner()
		return
	}
	flag.IntVar(&nodes, "nodes", five, "measure on `n` nodes: 1, 3 or 5; most limits are for 5")
	only := flag.String("only", rowNames(), "comma-separated `rows` to run")
	divisor := flag.Int("divide", 1, "divide the numbers of jobs by `n`, to try rows: no limit is judged then, and figures keep their names")
	file := flag.String("record", "", "keep the figures of the rows in this JSON `file`, such as figures/figures.json")
	profile := flag.String("cpuprofile", "", "write a CPU profile of the run to this `file`")
	flag.Parse()
	_ = os.Setenv(nodesVariable, strconv.Itoa(nodes))
	stopProfile, err := startProfile(*profile)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	missed, err := run(ctx, strings.Split(*only, ","), max(*divisor, 1), *file)
	stop()
	err = errors.Join(err, stopProfile())
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	if missed || err != nil {
		os.Exit(1)
	}
}

// startProfile writes a profile until the function that it returns is called.
func startProfile(name string) (stop func() error, err error) {
	if name == "" {
		return func() error { return nil }, nil
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	return func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}, pprof.StartCPUProfile(file)
}

func run(ctx context.Context, only []string, divisor int, file string) (missed bool, err error) {
	rows, err := selected(only)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	logging.Disable() // go-redis would log each failed dial
	cluster, err := redisproc.Start(ctx, nodes)
	if err != nil {
		return false, err
	}
	b := &bench{cluster: cluster, admins: clientsOf(cluster.Addrs()), divisor: divisor}
	b.report.unjudged = divisor > 1
	b.report.rows = map[string]recorded{}
	defer func() { err = errors.Join(err, closeAll(b.admins), cluster.Close()) }()

	on := machine(ctx)
	fmt.Println(on)
	b.report.head()
	for _, r := range rows {
		b.report.begin(r)
		if failed := b.measure(ctx, r); failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", r.name, failed))
		}
		b.report.end()
	}
	if file != "" {
		if divisor > 1 {
			return true, errors.Join(err, errors.New("nothing is recorded: the figures are of smaller numbers of jobs"))
		}
		err = errors.Join(err, record(file, on, time.Now(), b.report.rows))
	}
	return b.report.summarize(), err
}

// measure runs a row and closes its peers and clusters.
func (b *bench) measure(ctx context.Context, r row) (err error) {
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
		defer cancel()
		peers := b.peers
		b.peers = nil
		closed, late := receive(ctx, inBackground(len(peers), func(i int) error { return peers[i].close(ctx) }))
		err = errors.Join(err, closed, late)
		for _, c := range b.clusters {
			err = errors.Join(err, c.Close())
		}
		b.clusters = nil
	}()
	defer func() {
		if cause := recover(); cause != nil {
			err = cause.(failure).error // panics again if the cause is not a failure
		}
	}()
	r.measure(b, ctx)
	return context.Cause(ctx)
}

// failure is what check panics with.
type failure struct{ error }

// check ends the row if there is an error. Like testing.T.Fatal, it may only be called on the goroutine of the row.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// must returns value, or ends the row as check does.
func must[T any](value T, err error) T {
	check(err)
	return value
}

func machine(ctx context.Context) string {
	server, err := exec.CommandContext(ctx, "redis-server", "--version").Output()
	if err != nil {
		server = []byte(err.Error())
	}
	version, _, _ := strings.Cut(string(server), " sha=")
	return fmt.Sprintf("%d cores, %s %s/%s, %s", runtime.GOMAXPROCS(0), runtime.Version(), runtime.GOOS, runtime.GOARCH, version)
}
