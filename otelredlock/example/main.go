// Example runs five embedded nodes and three replicas of a service, and lets Prometheus scrape them. Each replica has
// its own telemetry, marked by the label replica. A job ticks every second, and fails now and then.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
)

// outage is how long nobody leads with -stop-leading: long enough for alerts.
const outage = 15 * time.Second

func main() {
	listen := flag.String("listen", "127.0.0.1:9464", "`address` of /metrics")
	length := flag.Duration("for", 0, "end after this time; 0: when interrupted")
	nodes := flag.String("nodes", "", "`host:port,...` of real Redis nodes; five embedded ones if empty")
	stopLeading := flag.Duration("stop-leading", 0,
		fmt.Sprintf("after this time, cut all replicas off from the embedded nodes for %v; 0: never", outage))
	flag.Parse()
	if *nodes != "" && *stopLeading > 0 {
		log.Fatal("-stop-leading works only with embedded nodes; stop those of -nodes yourself")
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, *length)
		defer cancel()
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("metrics are at http://%s/metrics", listener.Addr())
	var cut, heal <-chan time.Time // never
	if *stopLeading > 0 {
		cut, heal = time.After(*stopLeading), time.After(*stopLeading+outage)
	}
	if *nodes != "" {
		urls := strings.Split(*nodes, ",")
		open := func(opts ...redlock.Option) (*redlock.Locker, error) { return redlock.Open(urls, opts...) }
		err = serve(ctx, listener, open)
	} else {
		err = serveEmbedded(ctx, listener, cut, heal)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// serveEmbedded serves with embedded nodes. Between cut and heal all replicas are cut off from them.
func serveEmbedded(ctx context.Context, listener net.Listener, cut, heal <-chan time.Time) error {
	nodes, err := redlocktest.Start(5)
	if err != nil {
		return err
	}
	defer nodes.Close()
	for i := range nodes.Addrs() {
		nodes.Wipe(i) // like new servers
	}
	ctx, cancel := context.WithCancel(ctx)
	var cutting sync.WaitGroup // its goroutine ends with ctx
	defer cutting.Wait()
	defer cancel()
	cutting.Go(func() { cutAllOff(ctx, nodes, cut, heal) })
	return serve(ctx, listener, func(opts ...redlock.Option) (*redlock.Locker, error) {
		return redlock.New(nodes.Process().Clients(), opts...)
	})
}

// serve returns when ctx is done, or something fails. Each replica opens its own Locker.
func serve(ctx context.Context, listener net.Listener, open openLocker) error {
	registry := prometheus.NewRegistry()
	var replicas []*replica
	for i := range 3 {
		r, err := newReplica(fmt.Sprintf("pod-%d", i+1), open, registry)
		if err != nil {
			return err
		}
		replicas = append(replicas, r)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var problems []error
	var mu sync.Mutex // guards problems
	var all sync.WaitGroup
	start := func(part func(context.Context) error) {
		all.Go(func() { // ends with ctx, and is waited for below
			if err := part(ctx); err != nil {
				mu.Lock()
				problems = append(problems, err)
				mu.Unlock()
				cancel(err)
			}
		})
	}
	for _, r := range replicas {
		start(r.serve)
	}
	start(func(context.Context) error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	<-ctx.Done()
	_ = server.Close() // scrapes in progress do not matter
	all.Wait()
	return errors.Join(problems...)
}

// cutAllOff simulates the outage, during which the clock of a node is stepped too.
func cutAllOff(ctx context.Context, nodes *redlocktest.Nodes, cut, heal <-chan time.Time) {
	select {
	case <-cut:
	case <-ctx.Done():
		return
	}
	log.Print("all replicas are cut off from the nodes")
	nodes.Cut()
	nodes.Jump(4, time.Minute)
	select {
	case <-heal:
	case <-ctx.Done():
	}
	nodes.Heal()
	log.Print("the nodes can be reached again")
}
