package leaderhttp_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/redlockfx/redlockfx/adapters/leaderhttp"
	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
)

func Example() {
	nodes, err := redlocktest.Start(3) // in memory
	if err != nil {
		log.Fatal(err)
	}
	defer nodes.Close()
	// In production: redlock.Open([]string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"})
	locker, err := redlock.New(nodes.Process().Clients())
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
	mux.Handle("/orders/", leaderhttp.Redirect(elector, allow)(orders))
	mux.Handle("/livez", leaderhttp.Liveness(elector))

	for _, path := range []string{"/orders/7", "/livez"} { // nobody leads yet
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequest("GET", path, nil))
		fmt.Println(path, answer.Code, answer.Header().Get("Retry-After"))
	}
	if err := locker.Close(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// /orders/7 503 1
	// /livez 200
}
