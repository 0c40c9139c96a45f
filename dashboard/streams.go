package dashboard

import (
	"sync"
	"time"
)

const (
	// maxStreams is how many pages one replica keeps up to date by events at once. If each shows something else, each
	// is rendered separately, which takes 10 ms every five seconds for a thousand jobs. If maxStreams is too large,
	// whoever opens many streams takes CPU time from the jobs. If it is too small, more people see a page that is a
	// few seconds older.
	maxStreams = 100

	// sameFor is how long one rendered event is reused. Its texts say how long ago things happened, so it ages.
	sameFor = time.Second
)

// seen identifies what a page shows. Pages with equal values are the same.
type seen struct {
	query
	actions bool
}

// streams are the open streams of events.
type streams struct {
	mu   sync.Mutex // guards the fields below
	open int
	all  map[seen]*shared
}

// shared holds the newest event of all streams that show the same.
type shared struct {
	streams int // guarded by streams.mu

	mu       sync.Mutex // guards the fields below; held while the event is rendered
	of       *view
	read     time.Time // its data is fresh until then
	rendered time.Time
	event    []byte
}

// enter returns the event that the stream shares with all that show the same, and a function that must be called at
// the stream's end. Both are nil if too many streams are open.
func (s *streams) enter(what seen) (*shared, func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= maxStreams {
		return nil, nil
	}
	s.open++
	one := s.all[what]
	if one == nil {
		one = &shared{}
		s.all[what] = one
	}
	one.streams++
	return one, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open--
		if one.streams--; one.streams == 0 {
			delete(s.all, what)
		}
	}
}

// get returns the event for what was read. Only one of the streams renders it.
func (s *shared) get(in known, render func() ([]byte, error)) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == in.view && s.read.Equal(in.until) && time.Since(s.rendered) < sameFor {
		return s.event, nil
	}
	event, err := render()
	if err != nil {
		return nil, err
	}
	s.of, s.read, s.rendered, s.event = in.view, in.until, time.Now(), event
	return event, nil
}
