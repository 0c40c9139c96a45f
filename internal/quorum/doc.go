// Package quorum asks N independent Redis nodes the same thing at once.
//
// A [Round] is one call of one script on every node. [Ask] returns as soon as the outcome is decided, or at the node
// timeout. It uses its own timer, because go-redis by default does not honor a context in the middle of a read: a hung
// node would otherwise block its caller for seconds.
//
// # Guarantees
//
//   - No call waits longer than the node timeout, whatever the nodes and the clients do.
//   - A call that was sent is never abandoned. Its answer may be late, but [Round.Then] sees every answer, so the
//     effects of a late answer can be undone. With a single node, a call whose context ends may end without an answer.
//   - A node has one goroutine from its first call to [Quorum.Close], uses one connection, and is sent one pipeline at a
//     time. So a hung node has a constant cost. Calls that expire before they could be sent are never sent, and end with
//     [ErrNotTried].
//   - A node carries out calls of one name ([Named]) in the order in which they were sent, one after the other. A call is
//     sent when those of its name before it have ended. One that ended without an answer ([ErrPerhapsDone]), or was sent
//     twice ([Answer.Resent]), is the exception: the node may still act on it, after the calls behind it.
//   - Each call that ends without an answer says by its error which of two is true: nothing of it was written
//     ([ErrUnsent]), or the node may have acted on it ([ErrPerhapsDone]).
//   - Calls that wait while a pipeline is under way are the next one. Calls of one [Command] share a script call.
//   - No command is resent unnoticed. If a connection breaks, or one that was idle does not answer within half of the
//     timeout, a command is sent once more, on a new connection, and its answers say so ([Answer.Resent]). A command
//     that got no connection of a full pool by then is sent on a new one, which shows whether the node works.
//
// # Connections
//
// A node has a connection of its own, made from the options of its client, if that is a *redis.Client. So a call costs no
// more than its commands, and other users of the client cost it nothing. Other clients, such as those of a Redis Cluster,
// are used as they are; so are those of Sentinel, whose connections end with a change of the master, and those with
// ContextTimeoutEnabled, whose hooks are then used as well. Beside the pool of a Ring, or of a client of another type,
// nothing can be dialed: if it stays full for the whole timeout, the node counts as silent. A dial that takes longer than
// a call goes on, and a later call takes its connection. A node is inspected when it is first reached, after a call that
// it did not answer, when another server answers, and whenever [Quorum.Inspect] requests it.
// Further connections, each for one inspection, show whether its address leads to several servers.
package quorum
