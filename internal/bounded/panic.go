package bounded

import (
	"fmt"
	"runtime"
)

// Call calls fn, in which go-redis reads a reply, and returns a runtime panic in it as an error: go-redis indexes lists
// and asserts types on the assumption that a real Redis server sent them. Other panics continue.
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
