// Dashboard shows the page of a service of three replicas on five Redis nodes, all in this process. The leader is
// cut off from the nodes every half minute, so that there is something to see. Each replica serves the page, as in
// production, and all pages show the same.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/dashboard"
	"github.com/redlockfx/redlockfx/redlocktest"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "where the page is served")
	failover := flag.Duration("failover", 30*time.Second, "how often the leader is cut off")
	length := flag.Duration("for", 0, "how long it runs; until it is interrupted if 0")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, *length)
		defer cancel()
	}
	listener, err := net.Listen("tcp", *listen)
	if err == nil {
		err = run(ctx, listener, *failover)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dashboard:", err)
		os.Exit(1)
	}
}

// run serves the pages until ctx is done, and closes the listener.
func run(ctx context.Context, listener net.Listener, failover time.Duration) error {
	if failover < 3*ttl {
		return errors.Join(listener.Close(), fmt.Errorf("-failover %v must be at least %v, so that the lease "+
			"expires and another replica leads", failover, 3*ttl))
	}
	log, err := zap.NewDevelopment()
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	nodes, err := redlocktest.Start(5)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer nodes.Close()
	for i := range nodes.Addrs() {
		nodes.Wipe(i) // like new servers
	}

	var replicas []*replica
	mux := http.NewServeMux()
	for i := range 3 {
		r, err := newReplica(fmt.Sprint("pod-", i+1), nodes, log)
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		replicas = append(replicas, r)
		prefix := "/" + r.name
		mux.Handle(prefix+"/", http.StripPrefix(prefix, dashboard.Handler(r.elector, r.scheduler,
			dashboard.Until(ctx), dashboard.WithLogger(log),
			dashboard.AllowActions(ofThisMachine), dashboard.Hosts("localhost", "127.0.0.1", "::1"),
		)))
	}
	mux.Handle("/{$}", http.RedirectHandler("/pod-1/", http.StatusFound))

	var work sync.WaitGroup // its goroutines end with ctx, and are waited for below
	for _, r := range replicas {
		work.Go(func() { r.run(ctx) })
	}
	work.Go(func() { story(ctx, replicas, failover) })
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	work.Go(func() {
		<-ctx.Done()
		closing, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := server.Shutdown(closing); err != nil {
			log.Error("failed to shut down the server", zap.Error(err))
		}
	})
	fmt.Printf("http://%s/   new nodes grant nothing for the first %v; the leader is cut off every %v\n",
		listener.Addr(), ttl, failover)
	err = server.Serve(listener)
	work.Wait()
	for _, r := range replicas {
		r.close()
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// ofThisMachine lets everybody on this machine act. A service would return the user of a session that it has checked.
func ofThisMachine(r *http.Request) (who string, err error) {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !from.Addr().Unmap().IsLoopback() {
		return "", errors.New("only from this machine")
	}
	return "somebody at this machine", nil
}

// story cuts the leader off from the nodes now and then, for long enough that another replica leads.
func story(ctx context.Context, replicas []*replica, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		for _, r := range replicas {
			if !r.elector.IsLeader() {
				continue
			}
			r.process.Cut()
			select {
			case <-time.After(2 * ttl):
			case <-ctx.Done():
			}
			r.process.Heal()
			break
		}
	}
}
