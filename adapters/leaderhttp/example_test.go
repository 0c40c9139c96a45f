package leaderhttp_test

import (
	"context"
	"log"
	"net/http"

	"github.com/redlockfx/redlockfx/adapters/leaderhttp"
	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
)

func Example() {
	locker, err := redlock.Open([]string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"})
	if err != nil {
		log.Fatal(err)
	}
	elector, err := election.New(locker, "billing", election.WithIdentity("pod-1", "http://10.0.0.7:8080"))
	if err != nil {
		log.Fatal(err)
	}
	allow, err := leaderhttp.Hosts("10.0.0.0/8:8080") // the replicas' addresses
	if err != nil {
		log.Fatal(err)
	}
	orders := http.NotFoundHandler()
	mux := http.NewServeMux()
	mux.Handle("/orders/", leaderhttp.Redirect(elector, allow)(orders)) // 503 with a Retry-After while nobody leads
	mux.Handle("/livez", leaderhttp.Liveness(elector))
	go func() { log.Fatal(http.ListenAndServe(":8080", mux)) }()
	log.Print(elector.Run(context.Background()))
}
