package redlocktest

import "fmt"

// owner owns nodes: a testing.TB, or a program.
type owner interface {
	Helper()
	Name() string
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// program owns the nodes that Start made.
type program struct{}

func (program) Helper()                           {}
func (program) Name() string                      { return "this program" }
func (program) Cleanup(func())                    {} // Nodes.Close calls it
func (program) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
