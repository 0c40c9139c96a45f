// Package testmain is what the TestMain of every package does.
package testmain

import (
	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

// Run runs the tests and fails if a goroutine is left afterwards. It silences go-redis, which otherwise reports each
// failed dial.
func Run(m goleak.TestingM, options ...goleak.Option) {
	logging.Disable()
	goleak.VerifyTestMain(patient{m, options}, options...)
}

// patient waits for goroutines that end on their own. A pool of go-redis that could not dial checks only once a second
// whether it is closed, and goleak does not wait that long.
type patient struct {
	goleak.TestingM
	options []goleak.Option
}

func (p patient) Run() int {
	code := p.TestingM.Run()
	for range 4 {
		if goleak.Find(p.options...) == nil { // Find waits for 0.4 s
			break
		}
	}
	return code
}
