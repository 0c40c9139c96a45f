package main

import (
	"crypto/md5" // S3 uses it for ETags
	"fmt"
	"io"
	"net/http"
	"sync"
)

// bucket does in memory what S3 does for GetObject and PutObject with conditions. As in S3, an ETag is the MD5 of the
// content, in quotes. PutObject takes only "*" for If-None-Match. If-Match of an object that does not exist is a 404. S3 may
// answer 409 to one of two simultaneous writes; this bucket does so as often as busy says.
type bucket struct {
	mu      sync.Mutex // guards the rest
	objects map[string][]byte
	busy    int    // this many further writes with a condition get a 409
	loses   int    // this many further writes take place without an answer
	between func() // called once, with the lock free, before a write
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if r.Method == http.MethodPut {
		b.meanwhile()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	object, exists := b.objects[r.URL.Path]
	switch r.Method {
	case http.MethodGet:
		if !exists {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("ETag", etagOf(object))
		_, _ = w.Write(object) // fails only if the client is gone
	case http.MethodPut:
		if status := b.condition(r.Header, object, exists); status != http.StatusOK {
			w.WriteHeader(status)
			return
		}
		if b.objects == nil {
			b.objects = map[string][]byte{}
		}
		b.objects[r.URL.Path] = body
		if b.loses > 0 {
			b.loses--
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("ETag", etagOf(body))
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// condition returns 200 if a write may take place, and the status of its refusal otherwise.
func (b *bucket) condition(header http.Header, object []byte, exists bool) int {
	match, noneMatch := header.Get("If-Match"), header.Get("If-None-Match")
	switch {
	case match != "" && noneMatch != "", noneMatch != "" && noneMatch != "*":
		return http.StatusNotImplemented
	case match == "" && noneMatch == "":
		return http.StatusOK
	case b.busy > 0:
		b.busy--
		return http.StatusConflict
	case match != "" && !exists:
		return http.StatusNotFound
	case match != "" && match != etagOf(object), noneMatch != "" && exists:
		return http.StatusPreconditionFailed
	}
	return http.StatusOK
}

// meanwhile lets somebody else write.
func (b *bucket) meanwhile() {
	b.mu.Lock()
	between := b.between
	b.between = nil
	b.mu.Unlock()
	if between != nil {
		between()
	}
}

func etagOf(content []byte) string { return fmt.Sprintf(`"%x"`, md5.Sum(content)) }
