package scheduler

import "sync"

// inbox is how everything else reaches the goroutine that owns a term's state: as functions, which it calls one after the other.
// It never blocks who posts.
type inbox struct {
	ready chan struct{} // holds one signal that there is something

	mu    sync.Mutex // guards posts
	posts []func()
}

func newInbox() *inbox { return &inbox{ready: make(chan struct{}, 1)} }

func (b *inbox) post(event func()) {
	b.mu.Lock()
	b.posts = append(b.posts, event)
	b.mu.Unlock()
	select {
	case b.ready <- struct{}{}:
	default: // it is going to be read anyway
	}
}

// take returns what has been posted since.
func (b *inbox) take() []func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	posts := b.posts
	b.posts = nil
	return posts
}
