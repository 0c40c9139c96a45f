// Package sqltest tests package fenced on real databases: PostgreSQL, MariaDB and SQLite. It is a module of its own,
// which keeps their drivers out of the library's dependencies.
package sqltest
