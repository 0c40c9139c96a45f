package fencehttp_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/adapters/fencehttp"
	"github.com/redlockfx/redlockfx/fenced"
)

// memory is a store for tests: a real one is shared by all replicas.
type memory struct {
	mu     sync.Mutex
	tokens map[string]uint64
	err    error
}

func (m *memory) Raise(_ context.Context, resource string, token uint64) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return 0, m.err
	}
	if m.tokens == nil {
		m.tokens = map[string]uint64{}
	}
	m.tokens[resource] = max(m.tokens[resource], token)
	return m.tokens[resource], nil
}

// byPath has a resource for each path.
func byPath(r *http.Request) string { return strings.TrimPrefix(r.URL.Path, "/") }

// counter is a handler that counts its calls.
type counter struct{ calls int }

func (c *counter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	c.calls++
	w.WriteHeader(http.StatusCreated)
}

// ask sends a request with these values of the header.
func ask(t *testing.T, handler http.Handler, path string, values ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader("a body"))
	for _, value := range values {
		r.Header.Add(fencehttp.Header, value)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

func TestCheck_RefusesASmallerToken(t *testing.T) {
	done := &counter{}
	handler := fencehttp.Check(&memory{}, byPath)(done)
	for _, step := range []struct {
		path, token string
		want        int
	}{
		{"/ledger", "20", 201}, {"/ledger", "20", 201}, {"/ledger", "19", 412}, {"/other", "19", 201}, {"/ledger", "21", 201},
		{"/ledger", "20", 412}, {"/ledger", "9", 412},
	} {
		w := ask(t, handler, step.path, step.token)
		if w.Code != step.want {
			t.Errorf("%s with token %s: %d, want %d", step.path, step.token, w.Code, step.want)
		}
		if w.Code == 412 && w.Header().Get("Cache-Control") != "no-store" {
			t.Error("a cache may keep the refusal")
		}
	}
	if done.calls != 4 {
		t.Errorf("the handler was called %d times, want 4", done.calls)
	}
}

func TestCheck_AnswersEachBadRequestWithoutAskingTheStore(t *testing.T) {
	store, done := &memory{err: errors.New("it was asked")}, &counter{}
	handler := fencehttp.Check(store, byPath)(done)
	want := func(what string, w *httptest.ResponseRecorder, status int) {
		t.Helper()
		if w.Code != status {
			t.Errorf("%s: %d, want %d: %s", what, w.Code, status, w.Body)
		}
	}
	want("no header", ask(t, handler, "/a"), http.StatusPreconditionRequired)
	want("two headers", ask(t, handler, "/a", "7", "7"), http.StatusBadRequest)
	values := bad()
	for _, what := range slices.Sorted(maps.Keys(values)) {
		want(what, ask(t, handler, "/a", values[what]), http.StatusBadRequest)
	}
	for _, path := range []string{"/", "/" + strings.Repeat("x", 201), "/a%00b", "/a%FF"} {
		want("resource "+path, ask(t, handler, path, "7"), http.StatusBadRequest)
	}
	if done.calls != 0 {
		t.Errorf("the handler was called %d times", done.calls)
	}
}

// Check compares before the handler, and does not hold the resource while the handler works.
func TestCheck_DoesNotRefuseWhatIsUnderWay(t *testing.T) {
	var order []string
	var handler http.Handler
	handler = fencehttp.Check(&memory{}, byPath)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(fencehttp.Header) == "7" { // it is slow, and the next leader comes meanwhile
			if w := ask(t, handler, "/ledger", "8"); w.Code != http.StatusOK {
				t.Errorf("the next leader gets %d", w.Code)
			}
		}
		order = append(order, r.Header.Get(fencehttp.Header))
	}))
	ask(t, handler, "/ledger", "7")
	if !slices.Equal(order, []string{"8", "7"}) {
		t.Errorf("the writes are %v: the documentation says that the slow one comes last", order)
	}
	if w := ask(t, handler, "/ledger", "7"); w.Code != http.StatusPreconditionFailed {
		t.Errorf("what comes later gets %d", w.Code)
	}
}

// Nobody is let in while the store is away. What helps somebody else to forge a token, or tells of the inside, is in the log only.
func TestCheck_TellsClientsNeitherTokensNorErrors(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	done := &counter{}
	store := &memory{tokens: map[string]uint64{"ledger": 1234567}}
	handler := fencehttp.Check(store, byPath, fencehttp.WithLogger(zap.New(core)))(done)
	answers := []*httptest.ResponseRecorder{ask(t, handler, "/ledger", "7"), ask(t, handler, "/ledger", "7x")}
	store.err = errors.New("dial 10.1.2.3: refused")
	away := ask(t, handler, "/ledger", "7")
	if away.Code != http.StatusServiceUnavailable || away.Header().Get("Retry-After") == "" || done.calls != 0 {
		t.Errorf("%d, %v, %d calls", away.Code, away.Header(), done.calls)
	}
	answers = append(answers, away)
	for _, w := range answers {
		for _, inside := range []string{"1234567", "10.1.2.3", "7x"} {
			if strings.Contains(w.Body.String(), inside) {
				t.Errorf("%d: the client is told %q", w.Code, w.Body)
			}
		}
	}
	logged := fmt.Sprint(logs.All())
	for _, inside := range []string{"1234567", "10.1.2.3", "7x"} {
		if !strings.Contains(logged, inside) {
			t.Errorf("the log has nothing of %s: %s", inside, logged)
		}
	}
}

func TestMiddleware_PanicsWithoutAStoreOrAResource(t *testing.T) {
	db := new(fenced.DB)
	for what, call := range map[string]func(){
		"no store":         func() { fencehttp.Check(nil, byPath) },
		"no resource":      func() { fencehttp.Check(&memory{}, nil) },
		"no database":      func() { fencehttp.Tx(nil, byPath) },
		"Tx, no resource":  func() { fencehttp.Tx(db, nil) },
		"a negative limit": func() { fencehttp.Tx(db, byPath, fencehttp.WithMaxBody(-1)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			call()
		}()
	}
}
