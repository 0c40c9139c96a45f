package dashboard_test

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/redlockfx/redlockfx/dashboard"
	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/election/termlog"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

// userKey is the context key under which a service's middleware stores the user whose session it has checked.
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
	elector, err := election.New(locker, "billing", election.WithHooks(termlog.Hooks())) // the page shows the terms
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
			user, _ := r.Context().Value(userKey{}).(string) // verified by a middleware
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

// userOf returns the user of a request if the password is right. A real service would compare hashes, such as bcrypt's.
func userOf(r *http.Request, passwords map[string]string) (user string, ok bool) {
	user, password, _ := r.BasicAuth()
	want, known := passwords[user]
	return user, known && subtle.ConstantTimeCompare([]byte(password), []byte(want)) == 1
}

// Basic authentication: if the answer is 401 with WWW-Authenticate, a browser asks for a user name and a password.
// Serve it over TLS only.
func Example_basicAuthentication() {
	nodes, err := redlocktest.Start(1) // in memory
	if err != nil {
		log.Fatal(err)
	}
	defer nodes.Close()
	replica := nodes.Replica()
	passwords := map[string]string{"ann": "from a secret store"}
	page := dashboard.Handler(replica.Elector, replica.Scheduler,
		dashboard.AllowActions(func(r *http.Request) (who string, err error) {
			user, ok := userOf(r, passwords)
			if !ok {
				return "", errors.New("sign in first") // unreachable: the middleware has checked the password
			}
			return user, nil
		}))
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := userOf(r, passwords); !ok {
			w.Header().Set("WWW-Authenticate", `Basic realm="jobs", charset="UTF-8"`)
			http.Error(w, "sign in", http.StatusUnauthorized)
			return
		}
		page.ServeHTTP(w, r)
	})
	mux := http.NewServeMux()
	mux.Handle("/ops/jobs/", http.StripPrefix("/ops/jobs", guarded))

	for _, password := range []string{"", "a guess", "from a secret store"} {
		request := httptest.NewRequest(http.MethodGet, "/ops/jobs/", nil)
		if password != "" {
			request.SetBasicAuth("ann", password)
		}
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, request)
		fmt.Println(answer.Code, answer.Header().Get("WWW-Authenticate"))
	}
	// Output:
	// 401 Basic realm="jobs", charset="UTF-8"
	// 401 Basic realm="jobs", charset="UTF-8"
	// 200
}
