package main

import (
	"crypto/md5" // what S3 makes ETags of
	"fmt"
	"io"
	"net/http"
	"sync"
)

// bucket is what S3 does for GetObject and PutObject with conditions, in memory. As in S3, an ETag is the MD5 of the content, in
// quotes; If-None-Match of PutObject is "*" only; If-Match of an object that does not exist is a 404. S3 may answer 409 to one of
// two writes at a time: this one does so where it is told to.
type bucket struct {
	mu      sync.Mutex // guards the rest
	objects map[string][]byte
	busy    int    // so many writes with a condition get a 409
	loses   int    // so many writes take place without an answer
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
		_, _ = w.Write(object) // whoever asked is gone
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

// condition returns 200 if a write may take place.
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

// meanwhile lets another one write.
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
