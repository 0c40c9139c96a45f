// Package doing names the work that is under way in a leader's callback, so that whoever waits for the callback can say what
// it waits for: the job "nightly" rather than a function of this library.
package doing

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Whoever waits for work says so after Soon, because most work has returned by then, and once per Often after that.
const (
	Soon  = 100 * time.Millisecond
	Often = 5 * time.Second
)

// List is the named work of one callback. Its methods are safe for concurrent use.
type List struct {
	ended func(Item) // may be nil

	mu    sync.Mutex // guards the fields below
	items []*Item
	whole *Item // the callback itself; nil: it names its work, and while none is listed it does nothing that matters
	busy  Item  // see SetBusy
}

// Item is one piece of work.
type Item struct {
	Name  string
	Since time.Time
}

type key struct{}

// With returns a context for a callback called name, and the list of its work, which begins with the callback itself. ended is
// called with each piece when it has ended.
func With(ctx context.Context, name string, ended func(Item)) (context.Context, *List) {
	whole := &Item{name, time.Now()}
	l := &List{ended: ended, items: []*Item{whole}, whole: whole}
	return context.WithValue(ctx, key{}, l), l
}

// Naming says that the callback of this context names all of its work that matters.
func Naming(ctx context.Context) {
	if l, ok := ctx.Value(key{}).(*List); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.items = slices.DeleteFunc(l.items, func(item *Item) bool { return item == l.whole })
		l.whole = nil
	}
}

// SetBusy says that the callback's own goroutine is from now on in what name says, which must not last; no name: it waits.
func SetBusy(ctx context.Context, name string) {
	if l, ok := ctx.Value(key{}).(*List); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.busy = Item{name, time.Now()}
	}
}

// Busy returns what the callback's own goroutine is in, and since when; no name: it waits.
func (l *List) Busy() (name string, since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.busy.Name, l.busy.Since
}

// Start lists a piece of work of the context's callback until end is called.
func Start(ctx context.Context, name string) (end func()) {
	l, ok := ctx.Value(key{}).(*List)
	if !ok {
		return func() {}
	}
	item := &Item{name, time.Now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.items = append(l.items, item)
	return func() { l.end(item) }
}

func (l *List) end(item *Item) {
	l.mu.Lock()
	l.items = slices.DeleteFunc(l.items, func(other *Item) bool { return other == item })
	l.mu.Unlock()
	if l.ended != nil {
		l.ended(*item)
	}
}

// Returned says that the callback has returned.
func (l *List) Returned() {
	l.mu.Lock()
	whole := l.whole
	l.mu.Unlock()
	if whole != nil {
		l.end(whole)
	}
}

// Items returns the work under way.
func (l *List) Items() (items []Item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, item := range l.items {
		items = append(items, *item)
	}
	return items
}
