// Bench measures packages redlock and election, where it can beside redsync and rueidislock, on five
// redis-server processes of its own, and ends with status 1 when a requirement is missed. README.md says
// what each row means.
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
	"strings"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

const (
	nodes = 5
	limit = 10 * time.Minute // of everything, far above what it takes
)

func main() {
	if variable := os.Getenv(leaderVariable); variable != "" {
		if err := beLeaders(variable); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	only := flag.String("only", "", "`rows` to run, with commas between them; all if empty: "+
		strings.Join(names(allRows), ","))
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	missed, err := run(ctx, *only)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	if missed || err != nil {
		os.Exit(1)
	}
}

func run(ctx context.Context, only string) (missed bool, err error) {
	rows, err := selected(only)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	logging.Disable() // go-redis would tell of each failed dial
	cluster, err := redisproc.Start(ctx, nodes)
	if err != nil {
		return false, err
	}
	b := &bench{cluster: cluster, admins: clientsOf(cluster.Addrs())}
	defer func() { err = errors.Join(err, closeAll(b.admins), cluster.Close()) }()

	fmt.Println(machine(ctx))
	b.report.head()
	for _, r := range rows {
		if err = errors.Join(r.measure(b, ctx), context.Cause(ctx)); err != nil {
			err = fmt.Errorf("%s: %w", r.name, err)
			break
		}
	}
	return b.report.conclude(), err
}

func machine(ctx context.Context) string {
	server, err := exec.CommandContext(ctx, "redis-server", "--version").Output()
	if err != nil {
		server = []byte(err.Error())
	}
	return fmt.Sprintf("%d cores, %s %s/%s, %s", runtime.GOMAXPROCS(0), runtime.Version(),
		runtime.GOOS, runtime.GOARCH, strings.TrimSpace(string(server)))
}
