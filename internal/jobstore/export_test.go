package jobstore

import "context"

// Text returns what the nodes store.
func (s State) Text() string { return string(s.append(nil)) }

// DecodeState decodes it.
func DecodeState(text string) (s State, err error) {
	err = s.decode(text)
	return s, err
}

// Text returns what the nodes store.
func (s Setting) Text() string { return encode(s.code) }

// Header returns the header that people see.
func (s *Store) Header(ctx context.Context, job string) (Header, error) {
	pages, _, err := s.read(ctx, "jobs", []any{"", 0, job}, nil)
	return freshest(pages), err
}
