// Package migration has the code of docs/migration.md: programs with three other libraries, and the same with this one.
package migration
