package scheduler

import (
	"sync"

	"github.com/redlockfx/redlockfx/internal/signal"
)

// inbox passes events to the goroutine that owns a term's state. An event is a function that this goroutine calls. Posting never
// blocks.
type inbox struct {
	ready signal.Signal // set while there are posts

	mu    sync.Mutex // guards posts
	posts []func()
}

func newInbox() *inbox { return &inbox{ready: signal.New()} }

func (b *inbox) post(event func()) {
	b.mu.Lock()
	b.posts = append(b.posts, event)
	b.mu.Unlock()
	b.ready.Set()
}

// take returns what has been posted since the last call.
func (b *inbox) take() []func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	posts := b.posts
	b.posts = nil
	return posts
}
