package jobstore

import "context"

// Text is what the nodes store.
func (s State) Text() string { return string(s.append(nil)) }

// DecodeState reads it.
var DecodeState = decodeState

// Text is what the nodes store.
func (s Setting) Text() string { return s.encode() }

// Header is what Forget takes for the nodes' header.
func (s *Store) Header(ctx context.Context, job string) (Header, error) {
	pages, _, err := s.read(ctx, "jobs", []any{"", 0, job}, never)
	return s.headerOf(pages), err
}
