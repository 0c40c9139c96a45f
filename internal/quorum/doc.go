// Package quorum asks N independent Redis nodes the same thing at once.
//
// A [Round] is one call of one script on every node. [Quorum.Ask] returns as soon as the outcome
// is decided, or at the node timeout, by a timer of its own: go-redis by default does not honour
// a context in the middle of a read, so a hung node would otherwise hold its caller for seconds.
//
// # What holds
//
//   - No call waits longer than the node timeout, whatever the nodes and the clients do.
//   - A call that was sent is never cut off: its answer may be late, but [Round.Then] sees every
//     answer, so that what a late answer did can be undone.
//   - A node that hangs costs a constant: at most four goroutines and four connections, and one once
//     it has failed to answer; what has queued up behind them when its own time is over is never
//     sent, and says so ([ErrUnsent]).
//   - Calls that wait for the same node travel together, in one pipeline.
//   - A lost reply may make go-redis send a script twice. Scripts must bear that.
package quorum
