package dashboard

import (
	"sync"
	"time"
)

const (
	// maxStreams is how many pages are kept up to date by events at once, at one replica. Each may show something else, so
	// each may be rendered for itself, which for a thousand jobs takes 10 ms in five seconds: with more, whoever opens
	// streams takes the processor from the jobs. With fewer, more people have a page that is a few seconds older.
	maxStreams = 100

	// sameFor is how long an event is sent to all who see the same: its texts say how long ago something was.
	sameFor = time.Second
)

// seen is what a page shows, and to whom: where it is the same, so is the page.
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

// shared is the newest event of all streams that show the same.
type shared struct {
	streams int // guarded by streams.mu

	mu       sync.Mutex // guards the fields below; held while the event is rendered
	of       *view
	read     time.Time // until when what it shows is fresh
	rendered time.Time
	event    []byte
}

// enter returns what all streams share that show the same, and a function that has to be called at the stream's end. It is
// nil if too many are open.
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

// get returns the event for what was read, which one of the streams renders.
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
