package fencehttp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/fenced"
)

type callKey struct{}

// call is one call of a handler.
type call struct {
	tx  *sql.Tx
	mu  sync.Mutex // http.TimeoutHandler does not wait for its handler
	err error      // of a statement, from Fail. Guarded by mu
}

func (c *call) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = errors.Join(c.err, err)
}

func (c *call) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// TxFrom returns the transaction that the handler of [Tx] works in. The handler must not end it.
func TxFrom(ctx context.Context) (*sql.Tx, bool) {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return nil, false
	}
	return c.tx, true
}

// Fail reports that a statement failed in the handler of [Tx]. The handler should then return. Its transaction is
// rolled back, whatever it answers. If the database asks for another attempt, as after a deadlock, the handler is
// called again. Otherwise the client gets the handler's answer if that is 400 or more, and else 500. Call Fail before
// the handler returns. Outside of a handler of Tx, it does nothing.
func Fail(ctx context.Context, err error) {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		c.fail(err)
	}
}

var errRefused = errors.New("fencehttp: the handler has refused the request")

// Tx calls the handler in a transaction of [fenced.Tx], with the holder from the header, and sends the handler's answer
// after the commit. The handler gets the transaction from [TxFrom]. If a statement fails, the handler must write
// nothing more, and call [Fail] or answer 400 or more. Then the transaction is rolled back, and nothing is recorded.
// The body and the answer are held in memory, so the handler cannot stream. resource returns the name of what a request
// writes to. A middleware around Tx must not read the body.
//
// It panics if db or resource is nil.
func Tx(db *fenced.DB, resource func(*http.Request) string, opts ...Option) func(http.Handler) http.Handler {
	s := newSettings("Tx", db != nil, resource != nil, opts)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h, ok := s.holder(w, r)
			if !ok {
				return
			}
			body, ok := s.body(w, r)
			if !ok || !s.named(w, with(r.Context(), r, body), &h, resource) {
				return
			}
			h.Digest = digest(r, body)
			var a *answer
			var failed error
			err := fenced.Tx(r.Context(), db, h, func(ctx context.Context, tx *sql.Tx) error {
				c := &call{tx: tx}
				a = newAnswer(w.Header())
				next.ServeHTTP(a, with(context.WithValue(ctx, callKey{}, c), r, body))
				failed = c.failed()
				if failed == nil && a.status < http.StatusBadRequest {
					return nil
				}
				return errors.Join(errRefused, failed)
			})
			switch {
			case err == nil:
				a.send(w)
			case errors.Is(err, errRefused) && !errors.Is(err, fenced.ErrEnded):
				if failed != nil && r.Context().Err() == nil { // otherwise the client is gone
					s.log.Error("the handler has failed, nothing is written", zap.Stringer("holder", h), zap.Error(err))
				}
				if a.status < http.StatusBadRequest {
					refuse(w, http.StatusInternalServerError, "internal error")
					return
				}
				a.send(w)
			default:
				s.failed(w, r, h, err)
			}
		})
	}
}

// with returns the request with a body that can be read from its start.
func with(ctx context.Context, r *http.Request, body []byte) *http.Request {
	r = r.Clone(ctx)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r
}

// digest distinguishes requests that have the same key. Headers do not count, because a repeated request may have
// others, such as those of a trace.
func digest(r *http.Request, body []byte) string {
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%q %q ", r.Method, r.URL.RequestURI()) // a hash never fails
	_, _ = sum.Write(body)
	return hex.EncodeToString(sum.Sum(nil))
}

// body reads the body of the request, or answers it and returns false.
func (s *settings) body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.maxBody))
	if err == nil {
		return body, true
	}
	status, text := http.StatusBadRequest, "the body cannot be read"
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		status, text = http.StatusRequestEntityTooLarge, "the body is too large"
	}
	s.refused(w, r, status, text, err)
	return nil, false
}

// failed answers a request for which fenced.Tx has returned an error.
func (s *settings) failed(w http.ResponseWriter, r *http.Request, h fenced.Holder, err error) {
	switch {
	case errors.Is(err, fenced.ErrDone):
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, fenced.ErrReused):
		s.log.Error("refused a request with the key of another one", zap.Stringer("holder", h), zap.Error(err))
		refuse(w, http.StatusUnprocessableEntity, "the key belongs to another request: give each its own")
	case errors.Is(err, fenced.ErrFenced):
		s.fenced(w, h, zap.Error(err))
	case errors.Is(err, fenced.ErrCleaned):
		s.log.Error("refused a request, its key is too old", zap.Stringer("holder", h), zap.Error(err))
		refuse(w, http.StatusConflict, "the key is too old to tell whether it was used")
	case errors.Is(err, fenced.ErrEnded):
		s.log.Error("the transaction ended within the handler", zap.Stringer("holder", h), zap.Error(err))
		refuse(w, http.StatusInternalServerError, "internal error")
	default:
		s.unavailable(w, r, h, err)
	}
}

// answer holds what a handler answers, until it may be sent.
type answer struct {
	header http.Header
	status int // 0: not set
	body   bytes.Buffer
}

func newAnswer(before http.Header) *answer { return &answer{header: before.Clone()} }

func (a *answer) Header() http.Header { return a.header }

// WriteHeader drops informational answers, because another one follows them.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
}

func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}

func (a *answer) send(w http.ResponseWriter) {
	header := w.Header()
	clear(header)
	maps.Copy(header, a.header)
	if a.status != 0 {
		w.WriteHeader(a.status)
	}
	if a.body.Len() > 0 {
		_, _ = w.Write(a.body.Bytes()) // if it fails, the client is gone
	}
}
