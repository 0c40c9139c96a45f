// Package quorum asks N independent Redis nodes the same thing at once.
//
// A [Round] is one call of one script on every node. [Ask] returns as soon as the outcome is decided, or at the node
// timeout, by a timer of its own: go-redis by default does not honour a context in the middle of a read, so a hung node
// would otherwise hold its caller for seconds.
//
// # Guarantees
//
//   - No call waits longer than the node timeout, whatever the nodes and the clients do.
//   - A call that was sent is never cut off: its answer may be late, but [Round.Then] sees every answer, so that what a
//     late answer did can be undone.
//   - A node that hangs costs a constant: at most four goroutines and four connections, and one once it has failed to
//     answer. Calls whose time is over before they could be sent are never sent, and say so ([ErrUnsent]).
//   - Calls that wait for the same node travel together: calls of one [Command] in one script call, the commands in one
//     pipeline.
//   - Nothing is sent twice in secret. Where a connection broke, a command is sent once more, and its answers say so
//     ([Answer.Resent]).
//
// # Connections
//
// A worker owns one connection while there is something to do, so a call costs no more than its commands. That
// needs a *redis.Client; other clients, such as those of a Redis Cluster, are used as they are. A node is inspected when
// it is first reached, after a call that it did not answer, and whenever [Quorum.Inspect] asks for it.
package quorum
