// Package migration has the code of docs/migration.md: the same work with three other libraries, and with this one.
package migration
