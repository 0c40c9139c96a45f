// Package migration is the code of docs/migration.md: what three other libraries do, and the same here.
package migration
