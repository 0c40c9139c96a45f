// Package redisproc runs real redis-server processes on free loopback ports, with faulty TCP proxies
// in front of them, for integration tests and benchmarks. It does not depend on package testing, so a
// main program can use it too.
//
// # Promise
//
// When [Start] returns, every node has answered, and is a process that Start started. When Close
// returns, no process, goroutine, socket or file of these nodes is left. The package signals only
// processes that it has started.
//
// On Linux the nodes die with this process, however it ends. Elsewhere, if this process is killed or
// panics before Close, the nodes keep running. In both cases the folder stays in [os.TempDir].
//
// # Faults
//
// A node can hang ([Node.Hang], [Node.Wake]) and crash ([Node.Kill], [Node.Restart]), and come back
// without its data ([Node.RestartEmpty]) or with older data ([Node.Backup], [Node.RestartFromBackup]).
// The network to it can be slow ([Proxy.Delay]), silent ([Proxy.Cut]) or refuse connections
// ([Proxy.Refuse]).
//
// It needs redis-server on PATH and a Unix system.
package redisproc
