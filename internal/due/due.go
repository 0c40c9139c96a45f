// Package due keeps things in the order in which they are due.
package due

import (
	"container/heap"
	"iter"
	"slices"
	"time"
)

// Queue holds items, the first due first. Adding and removing one takes logarithmic time. Its methods must be called by
// one goroutine at a time. The zero value is an empty queue.
type Queue[T any] struct{ items items[T] }

// Item is something that is due at an instant.
type Item[T any] struct {
	Value T
	At    time.Time
	index int // in the queue; notQueued if it is in none
}

const notQueued = -1

// Len returns the number of items.
func (q *Queue[T]) Len() int { return len(q.items) }

// Add adds an item.
func (q *Queue[T]) Add(value T, at time.Time) *Item[T] {
	item := &Item[T]{Value: value, At: at}
	heap.Push(&q.items, item)
	return item
}

// All returns all items, in no order.
func (q *Queue[T]) All() iter.Seq[*Item[T]] { return slices.Values(q.items) }

// First returns the item that is due first, and nil if there is none.
func (q *Queue[T]) First() *Item[T] {
	if len(q.items) == 0 {
		return nil
	}
	return q.items[0]
}

// Remove removes an item. It returns false if the item was removed before.
func (q *Queue[T]) Remove(item *Item[T]) bool {
	if item.index == notQueued {
		return false
	}
	heap.Remove(&q.items, item.index)
	return true
}

// items is a heap.
type items[T any] []*Item[T]

func (s items[T]) Len() int           { return len(s) }
func (s items[T]) Less(i, j int) bool { return s[i].At.Before(s[j].At) }
func (s items[T]) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].index, s[j].index = i, j
}

func (s *items[T]) Push(x any) {
	item := x.(*Item[T])
	item.index = len(*s)
	*s = append(*s, item)
}

func (s *items[T]) Pop() any {
	last := len(*s) - 1
	item := (*s)[last]
	(*s)[last], *s = nil, (*s)[:last]
	item.index = notQueued
	return item
}
