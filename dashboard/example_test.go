package dashboard_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/redlockfx/redlockfx/dashboard"
	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

func Example() {
	nodes := nodetest.Start(1)
	defer nodes.Close()
	locker, err := redlock.New(nodes.Links().Clients()) // or Open with the addresses of 3 or 5
	if err != nil {
		fmt.Println(err)
		return
	}
	elector, err := election.New(locker, "billing")
	if err != nil {
		fmt.Println(err)
		return
	}
	jobs, err := scheduler.New(elector)
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/ops/jobs/", http.StripPrefix("/ops/jobs", dashboard.Handler(elector, jobs,
		dashboard.AllowActions(func(r *http.Request) error {
			if user, _, _ := r.BasicAuth(); user != "bob" { // whom something before this has checked
				return errors.New("ask Bob")
			}
			return nil
		}))))

	for _, method := range []string{"GET /ops/jobs/", "POST /ops/jobs/pause"} {
		method, path, _ := strings.Cut(method, " ")
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequest(method, path, nil))
		fmt.Println(answer.Code, strings.Contains(answer.Body.String(), "Nobody leads"), strings.Contains(answer.Body.String(), "ask Bob"))
	}
	if err := locker.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 200 true false
	// 403 false true
}
