package fencehttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/adapters/fencehttp"
	"github.com/redlockfx/redlockfx/fenced"
	"github.com/redlockfx/redlockfx/scheduler"
)

// A client sends its token with each request.
func ExampleSet() {
	_ = scheduler.Job{
		Name: "report", Spec: "@hourly", AtLeastOnce: true,
		Run: func(ctx context.Context, run scheduler.Run) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodPut, "https://reports.example/latest", nil)
			if err != nil {
				return err
			}
			if err := fencehttp.Set(request.Header, fenced.Run(run)); err != nil {
				return err
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				return err // an answer that is lost is no reason to worry: the next attempt sends the same key
			}
			defer func() { _ = response.Body.Close() }()
			if response.StatusCode >= http.StatusBadRequest {
				return fmt.Errorf("report: %s", response.Status)
			}
			return nil
		},
	}
}

// A service that keeps the tokens in Redis.
func ExampleCheck() {
	client := redis.NewClient(&redis.Options{Addr: "10.0.0.9:6379", ContextTimeoutEnabled: true})
	defer func() { _ = client.Close() }()
	latest := func(*http.Request) string { return "latest report" }
	report := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { /* store the report */ })
	handler := fencehttp.Check(fencehttp.Redis(client), latest)(report)

	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodPut, "/latest", nil))
	fmt.Println(w.Code, w.Body)
	// Output: 428 this request needs a Redlock-Fence header with a fencing token
}

// A service whose writes take place once for each key.
func ExampleTx() {
	var db *fenced.DB // from fenced.New
	ledger := func(*http.Request) string { return "ledger" }
	entries := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tx, _ := fencehttp.TxFrom(r.Context())
		if _, err := tx.ExecContext(r.Context(), `INSERT INTO entries ...`); err != nil {
			fencehttp.Fail(r.Context(), err) // nothing is recorded
			return
		}
		w.WriteHeader(http.StatusCreated) // sent after the commit
	})
	mux := http.NewServeMux()
	mux.Handle("POST /entries", fencehttp.Tx(db, ledger)(entries))
}
