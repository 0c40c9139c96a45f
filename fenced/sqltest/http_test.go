//go:build unix

package sqltest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/adapters/fencehttp"
	"github.com/redlockfx/redlockfx/fenced"
	"github.com/redlockfx/redlockfx/fenced/sqltest/sqlproc"
)

func ledger(*http.Request) string { return "ledger" }

// entries is a handler that writes an effect, and answers as it is told.
type entries struct {
	d      *database
	status int
	then   func(ctx context.Context)
	mu     sync.Mutex // guards the rest
	calls  int
	bodies []string
}

func (e *entries) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		e.d.t.Error(err)
	}
	e.mu.Lock()
	e.calls++
	e.bodies = append(e.bodies, string(body))
	calls := e.calls
	e.mu.Unlock()
	tx, ok := fencehttp.TxFrom(r.Context())
	if !ok {
		e.d.t.Error("the context has no transaction")
		return
	}
	if err := e.d.effect("one")(r.Context(), tx); err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	if e.then != nil {
		e.then(r.Context())
	}
	w.Header().Set("X-Call", fmt.Sprint(calls))
	w.WriteHeader(http.StatusProcessing) // one that is not the last
	if e.status != 0 {
		w.WriteHeader(e.status)
	}
	_, _ = io.WriteString(w, "an answer")
}

func post(t *testing.T, handler http.Handler, h fenced.Holder) *httptest.ResponseRecorder {
	t.Helper()
	return sent(t, handler, h, http.MethodPost, "/entries", "a body")
}

// sent sends a request with the holder's header.
func sent(t *testing.T, handler http.Handler, h fenced.Holder, method, target, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	r.Header.Set("Traceparent", rand.Text())
	must(t, fencehttp.Set(r.Header, h))
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

func wantStatus(t *testing.T, w *httptest.ResponseRecorder, want int) {
	t.Helper()
	if w.Code != want {
		t.Errorf("answer %d %q, want %d", w.Code, w.Body, want)
	}
}

func TestHTTP_EachKeyTakesEffectOnce(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.fenced(fenced.WithRetention(time.Hour))
		e := &entries{d: d, status: http.StatusCreated}
		handler := fencehttp.Tx(db, ledger)(e)
		first := post(t, handler, holder(7, 1))
		wantStatus(t, first, http.StatusCreated)
		if first.Body.String() != "an answer" || first.Header().Get("X-Call") != "1" || e.bodies[0] != "a body" {
			t.Errorf("answer %q with %v to the body %q", first.Body, first.Header(), e.bodies)
		}
		wantStatus(t, post(t, handler, holder(7, 1)), http.StatusNoContent)
		wantStatus(t, post(t, handler, holder(8, 1)), http.StatusNoContent) // by the next leader
		wantStatus(t, post(t, handler, holder(7, 2)), http.StatusPreconditionFailed)
		wantStatus(t, post(t, handler, holder(8, 2)), http.StatusCreated)
		if e.calls != 2 {
			t.Errorf("the handler was called %d times, want 2", e.calls)
		}
		old := aged("ledger", 2*time.Hour)
		old.Token = 8
		wantStatus(t, post(t, handler, old), http.StatusCreated)
		if n, err := db.Clean(t.Context(), 10); n != 1 || err != nil {
			t.Fatalf("%d keys were removed, %v", n, err)
		}
		wantStatus(t, post(t, handler, old), http.StatusConflict)
		d.wantEffects(3)
	})
}

// The handler fails, refuses, meets a deadlock, ends the transaction itself: the client gets the status, and
// nothing takes effect unless the handler accepts.
func TestHTTP_TakesEffectIfTheHandlerAccepts(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		e := &entries{d: d}
		handler := fencehttp.Tx(d.fenced(), ledger)(e)
		fails := func(ctx context.Context) { fencehttp.Fail(ctx, errors.New("no such table 10.1.1.9")) }
		for status, want := range map[int]int{
			0: http.StatusInternalServerError, http.StatusCreated: http.StatusInternalServerError, http.StatusTeapot: http.StatusTeapot,
		} {
			e.status, e.then = status, fails
			w := post(t, handler, holder(7, 1))
			wantStatus(t, w, want)
			if strings.Contains(w.Body.String(), "10.1.1.9") {
				t.Errorf("the client is told %q", w.Body)
			}
		}
		e.status, e.then = http.StatusUnprocessableEntity, nil
		w := post(t, handler, holder(7, 1))
		wantStatus(t, w, http.StatusUnprocessableEntity)
		if w.Body.String() != "an answer" || e.calls != 4 {
			t.Errorf("the client gets %q after %d calls", w.Body, e.calls)
		}
		d.wantEffects(0)
		e.status, e.calls = http.StatusCreated, 0
		e.then = func(ctx context.Context) {
			if e.calls == 1 {
				fencehttp.Fail(ctx, deadlock{})
			}
		}
		w = post(t, handler, holder(7, 1))
		wantStatus(t, w, http.StatusCreated)
		if e.calls != 2 || w.Header().Get("X-Call") != "2" {
			t.Errorf("after a deadlock: %d calls, the answer is that of call %s", e.calls, w.Header().Get("X-Call"))
		}
		d.wantEffects(1)
		e.status, e.then = 0, nil // 200, by writing
		wantStatus(t, post(t, handler, holder(7, 2)), http.StatusOK)
		d.wantEffects(2)
		e.then = func(ctx context.Context) {
			tx, _ := fencehttp.TxFrom(ctx)
			must(t, tx.Commit())
		}
		for n, status := range []int{http.StatusCreated, http.StatusBadRequest} {
			e.status = status
			wantStatus(t, post(t, handler, holder(7, 3+n)), http.StatusInternalServerError)
		}
	})
	fencehttp.Fail(t.Context(), errors.New("outside")) // does nothing
}

func TestHTTP_ReadsTheBodyUpToItsLimitAndSoDoesTheHandler(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		e := &entries{d: d, status: http.StatusCreated}
		named := func(r *http.Request) string { // the body may name the resource
			body, err := io.ReadAll(r.Body)
			must(t, err)
			return string(body)
		}
		db := d.fenced()
		wantStatus(t, post(t, fencehttp.Tx(db, named, fencehttp.WithMaxBody(5))(e), holder(7, 1)), http.StatusRequestEntityTooLarge)
		wantStatus(t, post(t, fencehttp.Tx(db, named, fencehttp.WithMaxBody(6))(e), holder(7, 1)), http.StatusCreated)
		if e.bodies[0] != "a body" {
			t.Errorf("the handler has read %q", e.bodies[0])
		}
		d.wantEffects(1)
	}, fenced.SQLite)
}

func TestHTTP_RefusesAnotherRequestWithTheSameKey(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		handler := fencehttp.Tx(d.fenced(), ledger)(&entries{d: d, status: http.StatusCreated})
		for _, step := range []struct {
			method, target, body string
			want                 int
		}{
			{http.MethodPost, "/entries?of=alice", "5", http.StatusCreated},
			{http.MethodPost, "/entries?of=alice", "5", http.StatusNoContent},
			{http.MethodPost, "http://another.replica/entries?of=alice", "5", http.StatusNoContent},
			{http.MethodPut, "/entries?of=alice", "5", http.StatusUnprocessableEntity},
			{http.MethodPost, "/entries?of=bob", "5", http.StatusUnprocessableEntity},
			{http.MethodPost, "/entries", "?of=alice5", http.StatusUnprocessableEntity},
			{http.MethodPost, "/entries?of=alice", "6", http.StatusUnprocessableEntity},
		} {
			wantStatus(t, sent(t, handler, holder(7, 1), step.method, step.target, step.body), step.want)
		}
		d.wantEffects(1)
	}, fenced.SQLite)
}

// http.TimeoutHandler answers while its handler goes on.
func TestHTTP_OfAHandlerThatFailsTooLate(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		over := make(chan struct{})
		late := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			defer close(over)
			<-r.Context().Done()
			fencehttp.Fail(r.Context(), r.Context().Err())
		})
		handler := fencehttp.Tx(d.fenced(), ledger)(http.TimeoutHandler(late, time.Millisecond, "late"))
		wantStatus(t, post(t, handler, holder(7, 1)), http.StatusServiceUnavailable)
		<-over
	}, fenced.SQLite)
}

func TestHTTP_LogsNothingOfAClientThatHasGone(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		core, logs := observer.New(zap.WarnLevel)
		ctx, leave := context.WithCancel(t.Context())
		e := &entries{d: d, then: func(ctx context.Context) {
			leave()
			fencehttp.Fail(ctx, ctx.Err())
		}}
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/entries", nil)
		must(t, fencehttp.Set(r.Header, holder(7, 1)))
		fencehttp.Tx(d.fenced(), ledger, fencehttp.WithLogger(zap.New(core)))(e).ServeHTTP(httptest.NewRecorder(), r)
		if e.calls != 1 || logs.Len() != 0 {
			t.Errorf("%d calls, the log has %v", e.calls, logs.All())
		}
		d.wantEffects(0)
	}, fenced.SQLite)
}

// The client is answered after the commit, by the call whose transaction was committed.
func TestHTTP_AnswersAfterTheCommit(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		for call, loss := range map[string]sqlproc.Loss{"1": sqlproc.Answer, "2": sqlproc.Request} {
			db, proxy := d.lossy()
			d.exec("DELETE FROM " + d.effects)
			e := &entries{d: d, status: http.StatusCreated}
			proxy.LoseNext(loss)
			w := post(t, fencehttp.Tx(db, ledger)(e), holder(7, int(loss)+1))
			wantStatus(t, w, http.StatusCreated)
			if got := w.Header().Get("X-Call"); got != call || e.bodies[len(e.bodies)-1] != "a body" || w.Body.String() != "an answer" {
				t.Errorf("loss %d: the answer %q is that of call %s, want %s; the bodies are %q", loss, w.Body, got, call, e.bodies)
			}
			d.wantEffects(1)
			d.opts[0] = fenced.WithTables(d.effects+"_f"+call, d.effects+"_k"+call)
		}
	}, fenced.PostgreSQL, fenced.MySQL)
}

func TestHTTP_SaysThatItDoesNotKnow(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db, proxy := d.lossy(fenced.WithSettle(300 * time.Millisecond))
		handler := fencehttp.Tx(db, ledger)(&entries{d: d, status: http.StatusCreated})
		proxy.LoseNext(sqlproc.Delayed) // until the proxy is closed
		w := post(t, handler, holder(7, 1))
		wantStatus(t, w, http.StatusServiceUnavailable)
		if w.Header().Get("Retry-After") == "" {
			t.Error("it does not say when to try again")
		}
		proxy.Cut()
		w = post(t, handler, holder(7, 1))
		wantStatus(t, w, http.StatusServiceUnavailable)
		if strings.Contains(w.Body.String(), "127.0.0.1") {
			t.Errorf("the client is told %q", w.Body)
		}
	}, fenced.PostgreSQL, fenced.MySQL)
}

func TestHTTP_AStoreOfTokens(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		store := fencehttp.SQL(d.fenced())
		for _, step := range []struct{ token, want uint64 }{{9, 9}, {10, 10}, {9, 10}, {10, 10}} {
			if got, err := store.Raise(t.Context(), "ledger", step.token); got != step.want || err != nil {
				t.Errorf("token %d: %d, want %d, %v", step.token, got, step.want, err)
			}
		}
		d.exec("DROP TABLE fences_" + strings.TrimPrefix(d.effects, "effects_"))
		if _, err := store.Raise(t.Context(), "ledger", 11); err == nil {
			t.Error("the table is gone, and no error")
		}
	})
}
