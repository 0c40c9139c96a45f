package dashboard_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/redlockfx/redlockfx/dashboard"
	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

// userKey is where a service's middleware keeps the user whose session it has checked.
type userKey struct{}

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
	elector, err := election.New(locker, "billing")
	if err != nil {
		log.Fatal(err)
	}
	jobs, err := scheduler.New(elector)
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/ops/jobs/", http.StripPrefix("/ops/jobs", dashboard.Handler(elector, jobs,
		dashboard.AllowActions(func(r *http.Request) (who string, err error) {
			user, _ := r.Context().Value(userKey{}).(string) // a middleware has checked who it is
			if user != "bob" {
				return "", errors.New("ask Bob")
			}
			return user, nil
		}))))

	for _, method := range []string{"GET /ops/jobs/", "POST /ops/jobs/pause"} {
		method, path, _ := strings.Cut(method, " ")
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequest(method, path, nil))
		page := answer.Body.String()
		fmt.Println(answer.Code, strings.Contains(page, "Nobody leads"), strings.Contains(page, "ask Bob"))
	}
	if err := locker.Close(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 200 true false
	// 403 false true
}
