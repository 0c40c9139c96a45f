package fencehttp

import (
	"errors"
	"net/http"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/fenced"
	"github.com/redlockfx/redlockfx/internal/name"
)

// Check calls the handler if the request's token is at least the largest that the resource has seen. It compares before
// the handler runs, not in one step with what the handler writes: see the package documentation. resource returns the
// name of what a request writes to, and must not read the body. Tokens of different elections or locks cannot be
// compared, so each resource belongs to one election or lock.
//
// It panics if store or resource is nil.
func Check(store Store, resource func(*http.Request) string, opts ...Option) func(http.Handler) http.Handler {
	s := newSettings("Check", store != nil, resource != nil, opts)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h, ok := s.holder(w, r)
			if !ok || !s.named(w, r, &h, resource) {
				return
			}
			largest, err := store.Raise(r.Context(), h.Resource, h.Token)
			switch {
			case err != nil:
				s.unavailable(w, r, h, err)
			case largest > h.Token:
				s.fenced(w, h, zap.Uint64("largest", largest))
			default:
				next.ServeHTTP(w, r)
			}
		})
	}
}

// holder returns the sender of the request, or answers the request and returns false.
func (s *settings) holder(w http.ResponseWriter, r *http.Request) (fenced.Holder, bool) {
	h, err := Get(r.Header)
	switch {
	case errors.Is(err, ErrMissing):
		s.refused(w, r, http.StatusPreconditionRequired, "this request needs a "+Header+" header with a fencing token", err)
	case err != nil:
		s.refused(w, r, http.StatusBadRequest, "the "+Header+" header is not valid", err)
	}
	return h, err == nil
}

// named sets the resource of the holder, or answers the request and returns false.
func (s *settings) named(w http.ResponseWriter, r *http.Request, h *fenced.Holder, resource func(*http.Request) string) bool {
	h.Resource = resource(r)
	err := name.Check("resource", h.Resource)
	if err != nil {
		s.refused(w, r, http.StatusBadRequest, "the name of the resource is not valid", err)
	}
	return err == nil
}

// refused answers an invalid request.
func (s *settings) refused(w http.ResponseWriter, r *http.Request, status int, text string, err error) {
	s.log.Warn("refused a request", zap.Int("status", status), zap.String("from", r.RemoteAddr), zap.Error(err))
	refuse(w, status, text)
}

// fenced answers a request whose token is smaller than one that the resource has seen.
func (s *settings) fenced(w http.ResponseWriter, h fenced.Holder, why ...zap.Field) {
	s.log.Warn("refused a request of an earlier holder", append(why, zap.String("resource", h.Resource),
		zap.Uint64("token", h.Token), zap.Int("status", http.StatusPreconditionFailed))...)
	refuse(w, http.StatusPreconditionFailed, "a later holder has been here")
}

// unavailable answers a request if its token could not be checked, or if the outcome of its transaction is unknown.
func (s *settings) unavailable(w http.ResponseWriter, r *http.Request, h fenced.Holder, err error) {
	if r.Context().Err() == nil { // otherwise the client is gone
		s.log.Error("failed to check a token, answering 503", zap.Stringer("holder", h), zap.Error(err))
	}
	w.Header().Set("Retry-After", "1")
	refuse(w, http.StatusServiceUnavailable, "the token cannot be checked now")
}

// refuse answers with a text that reveals nothing internal. No cache may keep it for others.
func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, text, status)
}
