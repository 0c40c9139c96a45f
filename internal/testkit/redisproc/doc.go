// Package redisproc runs real redis-server processes on free loopback ports, and faulty TCP
// proxies before them, for integration tests and benchmarks. It knows nothing of tests, so that
// a main program can use it too.
//
// [Start] gives independent nodes, [StartSharded] a Redis Cluster, [StartFailover] a master with a
// replica under sentinels.
//
// # Promise
//
// When one of them returns, every node has answered as the very process it started. When Close
// returns, no process, goroutine, socket or file of these nodes is left. Only processes that this
// package started are ever signalled.
//
// On Linux the nodes die with this process, however it ends. Elsewhere a process that is killed
// or panics before Close leaves them running; in both cases the folder stays in [os.TempDir].
//
// # Faults
//
// A node can hang ([Node.Hang], [Node.Wake]) and crash ([Node.Kill], [Node.Restart]), and come
// back without its data ([Node.RestartEmpty]) or with older data ([Node.Backup],
// [Node.RestartFromBackup]); the way to it can be slow ([Proxy.Delay]), silent ([Proxy.Cut]),
// refused ([Proxy.Refuse]) or lead to another node ([Router]).
//
// It needs redis-server on PATH and a Unix system.
package redisproc
