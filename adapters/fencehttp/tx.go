package fencehttp

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"maps"
	"net/http"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/fenced"
)

type txKey struct{}

// TxFrom returns the transaction that the handler of [Tx] works in. The handler must not end it.
func TxFrom(ctx context.Context) (*sql.Tx, bool) {
	tx, ok := ctx.Value(txKey{}).(*sql.Tx)
	return tx, ok
}

var errRefused = errors.New("fencehttp: the handler has refused the request")

// Tx calls the handler in a transaction of [fenced.Tx], with the holder that the header has, and sends the handler's answer after the
// commit. The handler gets the transaction from [TxFrom], and must answer 400 or more if a statement fails: then it is rolled back,
// and nothing is recorded. The body and the answer are held in memory, so the handler cannot stream. resource names what a request
// writes to.
//
// It panics if db or resource is nil.
func Tx(db *fenced.DB, resource func(*http.Request) string, opts ...Option) func(http.Handler) http.Handler {
	s := newSettings("Tx", db != nil, resource != nil, opts)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h, ok := s.holder(w, r, resource)
			if !ok {
				return
			}
			body, ok := s.body(w, r)
			if !ok {
				return
			}
			var a *answer
			err := fenced.Tx(r.Context(), db, h, func(ctx context.Context, tx *sql.Tx) error {
				a = newAnswer(w.Header())
				attempt := r.Clone(context.WithValue(ctx, txKey{}, tx))
				attempt.Body = io.NopCloser(bytes.NewReader(body))
				next.ServeHTTP(a, attempt)
				if a.status >= http.StatusBadRequest {
					return errRefused
				}
				return nil
			})
			if err == nil || errors.Is(err, errRefused) && !errors.Is(err, fenced.ErrEnded) {
				a.send(w)
				return
			}
			s.failed(w, r, h, err)
		})
	}
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
	s.log.Warn("refused a request", zap.Int("status", status), zap.String("from", r.RemoteAddr), zap.Error(err))
	refuse(w, status, text)
	return nil, false
}

// failed answers a request whose transaction was not committed now.
func (s *settings) failed(w http.ResponseWriter, r *http.Request, h fenced.Holder, err error) {
	switch {
	case errors.Is(err, fenced.ErrDone):
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, fenced.ErrFenced):
		s.fenced(w, h, zap.Error(err))
	case errors.Is(err, fenced.ErrCleaned):
		s.log.Error("refused a request, its key is too old", zap.Stringer("holder", h), zap.Error(err))
		refuse(w, http.StatusConflict, "the key is too old to tell whether it was used")
	case errors.Is(err, fenced.ErrEnded):
		s.log.Error("the handler has ended the transaction itself", zap.Stringer("holder", h), zap.Error(err))
		refuse(w, http.StatusInternalServerError, "internal error")
	default:
		s.unavailable(w, r, h, err)
	}
}

// answer is what a handler answers, until it may be sent.
type answer struct {
	header http.Header
	status int // 0: not set
	body   bytes.Buffer
}

func newAnswer(before http.Header) *answer { return &answer{header: before.Clone()} }

func (a *answer) Header() http.Header { return a.header }

// WriteHeader drops informational answers: they are not the last.
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
		_, _ = w.Write(a.body.Bytes()) // if it fails, whoever asked is gone
	}
}
