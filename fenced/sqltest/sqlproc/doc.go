// Package sqlproc runs real database servers on free loopback ports: PostgreSQL and MariaDB, as processes of an unprivileged
// user with their data in a temporary folder, and a TCP proxy before them that loses answers. It knows nothing of tests, so that a
// main program can use it too.
//
// When a start returns, the server has answered. When Close returns, no process, goroutine or file of it is left. Only
// processes that this package started are ever signalled.
package sqlproc
