package fenced

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// class is what an error of a database means here.
type class int

const (
	other     class = iota
	transient       // the transaction is rolled back, or can be: try it again
	refused         // the database has answered that the statement failed
	noTable
	noColumn
)

// classify reads an error without importing the driver that made it.
func (d Dialect) classify(err error) class {
	switch {
	case err == nil:
		return other
	case d == PostgreSQL:
		return classifyState(err)
	case d == MySQL:
		return classifyNumber(err)
	default:
		return classifyText(err)
	}
}

// classifyState uses the SQLSTATE, which the drivers of PostgreSQL return from a method.
func classifyState(err error) class {
	// A statement failed, fn went on, and the server rolled back instead of committing. pgx and lib/pq report that
	// without a state.
	for _, text := range []string{"commit unexpectedly resulted in rollback", "could not complete operation in a failed transaction"} {
		if strings.Contains(err.Error(), text) {
			return refused
		}
	}
	var answer interface{ SQLState() string }
	if !errors.As(err, &answer) {
		return other
	}
	switch state := answer.SQLState(); {
	case slices.Contains([]string{"40001", "40P01", "55P03"}, state): // serialization failure, deadlock, lock_timeout
		return transient
	case state == "42P01", state == "3F000": // no such table, no such schema
		return noTable
	case state == "42703":
		return noColumn
	case state == "", state == "40003", strings.HasPrefix(state, "08"), strings.HasPrefix(state, "57"):
		return other // the connection was lost, or the server is shutting down
	}
	return refused
}

// numberOf finds the number in an error of go-sql-driver/mysql, as in "Error 1213 (40001): Deadlock found".
var numberOf = regexp.MustCompile(`\bError (\d{4})(?: \([0-9A-Z]{5}\))?: `)

func classifyNumber(err error) class {
	found := numberOf.FindStringSubmatch(err.Error())
	if found == nil {
		return other
	}
	switch number := found[1]; {
	// Deadlock, lock wait timeout, and in MariaDB a row that has changed since the snapshot.
	case slices.Contains([]string{"1213", "1205", "1020"}, number):
		return transient
	case number == "1146", number == "1049": // no such table, no such database
		return noTable
	case number == "1054":
		return noColumn
	case number == "1053", number == "1927": // shutdown, connection killed
		return other
	}
	return refused
}

// classifyText uses the messages of SQLite itself, which all drivers pass on.
func classifyText(err error) class {
	text := err.Error()
	switch {
	case strings.Contains(text, "database is locked"), strings.Contains(text, "table is locked"):
		return transient
	case strings.Contains(text, "no such table"), strings.Contains(text, "unknown database"):
		return noTable
	case strings.Contains(text, "no such column"), strings.Contains(text, "has no column named"):
		return noColumn
	}
	return refused // there is no connection that could be lost
}
