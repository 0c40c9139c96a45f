package bounded

import (
	"fmt"
	"runtime"
)

// Call calls fn, in which go-redis reads a reply, and returns what the runtime panics with in it as an error: go-redis indexes
// lists, and asserts the types of what is in them, as only a Redis server would send them. Other panics go on.
func Call(fn func() error) (err error) {
	defer func() {
		v := recover()
		if wrong, ok := v.(runtime.Error); ok {
			err = fmt.Errorf("the reply of the server cannot be read: %w", wrong)
		} else if v != nil {
			panic(v)
		}
	}()
	return fn()
}
