package fenced

import (
	"fmt"
	"regexp"
)

// Dialect is the SQL of a database.
type Dialect int

const (
	// PostgreSQL is for PostgreSQL 10 or later.
	PostgreSQL Dialect = 1 + iota
	// MySQL is for MySQL 5.7 or later and MariaDB 10.5 or later, with InnoDB tables. The tests run on MariaDB; MySQL
	// itself is untested.
	MySQL
	// SQLite is for SQLite 3.35 or later.
	SQLite
)

func (d Dialect) String() string {
	switch d {
	case PostgreSQL:
		return "PostgreSQL"
	case MySQL:
		return "MySQL"
	case SQLite:
		return "SQLite"
	}
	return fmt.Sprintf("Dialect(%d)", int(d))
}

// statements are what is sent to the database. Their comments begin with the parameters. Each statement uses its
// parameters once, in their order, so that all dialects take the same arguments.
type statements struct {
	schema  []string
	guard   string // makes calls of Init wait for each other, where the database needs that
	stamp   string // version. Writes the version of the tables, unless they have one
	version string // Reads it, and fails if one of the tables is missing

	admitKey string // tick, key, attempt, digest, replica, resource, token, tick. Locks the fence, and affects one row if all is well
	admit    string // resource, token. The same without a key: it returns a row if all is well
	raise    string // resource, token, replica
	fence    string // resource
	key      string // resource, tick, key
	wait     string // resource, tick, key. Inserts the key, once no other transaction is about to
	// held is like key, for the transaction that has recorded the key. It is empty if the database never ends a
	// transaction by itself and lets the session go on.
	held string

	lockTimeout string // bounds the waits for locks of the transaction, where the database has no such bound by default

	now    string // microseconds since 1970
	due    string // tick. Resources that have keys up to it
	newest string // resource, tick, number. The tick of the last of that many keys
	mark   string // tick, resource, tick
	remove string // resource, tick, number; of SQLite and PostgreSQL the resource once more
}

func (d Dialect) statements(t tables) statements {
	switch d {
	case PostgreSQL:
		return postgres(t.quoted('"'))
	case MySQL:
		return mysql(t.quoted('`'))
	default:
		return sqlite(t.quoted('"'))
	}
}

var numbered = regexp.MustCompile(`\$\d+`)

// unnumbered writes parameters as MySQL wants them.
func unnumbered(sql string) string { return numbered.ReplaceAllString(sql, "?") }

// shared returns the statements that are the same in all dialects, with an expression for the current time in microseconds.
func shared(t tables, now string) statements {
	return statements{
		version: `SELECT f.token FROM ` + t.fences + ` f LEFT JOIN ` + t.keys +
			` k ON k.resource = f.resource AND k.tick = 0 AND k.run_key = '' WHERE f.resource = ''`,
		fence: `SELECT token, replica, raised_at, cleaned FROM ` + t.fences + ` WHERE resource = $1`,
		key:   `SELECT token, attempt, digest, replica, done_at FROM ` + t.keys + ` WHERE resource = $1 AND tick = $2 AND run_key = $3`,
		wait:  `INSERT INTO ` + t.keys + ` VALUES ($1, $2, $3, 0, '', '', '', 0) ON CONFLICT DO NOTHING`,
		now:   `SELECT ` + now,
		due: `SELECT f.resource FROM ` + t.fences + ` f WHERE f.resource <> '' AND EXISTS (SELECT 1 FROM ` + t.keys +
			` k WHERE k.resource = f.resource AND k.tick <= $1) ORDER BY f.resource`,
		newest: `SELECT MAX(tick) FROM (SELECT tick FROM ` + t.keys +
			` WHERE resource = $1 AND tick <= $2 ORDER BY tick LIMIT $3) oldest`,
		mark: `UPDATE ` + t.fences + ` SET cleaned = $1 WHERE resource = $2 AND cleaned < $3`,
	}
}
