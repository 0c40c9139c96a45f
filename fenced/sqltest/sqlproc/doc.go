// Package sqlproc runs real database servers, PostgreSQL and MariaDB, on free loopback ports. They are processes of an
// unprivileged user, with their data in a temporary folder. A TCP proxy in front of them can lose answers. The package
// knows nothing of tests, so that a main program can use it too.
//
// When a start returns, the server has answered. When Close returns, no process, goroutine or file of it is left. Only
// processes that this package started are ever signaled.
package sqlproc
