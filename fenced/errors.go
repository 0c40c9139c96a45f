package fenced

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrFenced is returned to a holder with a smaller token than the resource has seen. [FencedError] has the details.
	ErrFenced = errors.New("fenced: a later holder has been there")
	// ErrDone is returned for a key that is recorded: its transaction has been committed. [DoneError] has the details.
	ErrDone = errors.New("fenced: already done")
	// ErrReused is returned for a key that is recorded with another digest: it was used for something else. [ReusedError] has the
	// details.
	ErrReused = errors.New("fenced: the key was used for something else")
	// ErrCleaned is returned for a key so old that it may have been recorded and removed. [CleanedError] has the details.
	ErrCleaned = errors.New("fenced: too old to tell whether it was done")
	// ErrUnknown is returned if the answer to a commit was lost, and it could not be learned in time whether the
	// transaction was committed. A holder with a key may try again: it gets [ErrDone] if it was.
	ErrUnknown = errors.New("fenced: not known whether the transaction was committed")
	// ErrEnded is returned if the caller's function has committed or rolled back the transaction, or, for a holder with a key, has
	// returned nil although the database had rolled it back. [EndedError] says which.
	ErrEnded = errors.New("fenced: the transaction has ended before its function returned")
	// ErrNoTable is returned if a table does not exist: see [DB.Init] and [Schema].
	ErrNoTable = errors.New("fenced: table not found")
	// ErrSchema is returned if the tables are not of the version that this package needs. [SchemaError] has the details.
	ErrSchema = errors.New("fenced: tables of another version")
)

// FencedError says who has shown a larger token.
type FencedError struct {
	Resource string
	Token    uint64    // of the holder that is refused
	Fence    uint64    // the larger one
	Replica  string    // that raised the fence
	At       time.Time // when, by the clock of the database
}

func (e *FencedError) Error() string {
	return fmt.Sprintf("%v: resource %q: token %d is smaller than %d, which %s showed at %s",
		ErrFenced, e.Resource, e.Token, e.Fence, e.Replica, e.At.UTC().Format(time.RFC3339Nano))
}

// Unwrap returns [ErrFenced].
func (e *FencedError) Unwrap() error { return ErrFenced }

// DoneError says who has done it, and when.
type DoneError struct {
	Resource, Key string
	Token         uint64 // of the holder that has done it
	Replica       string
	At            time.Time // when that holder began, by the clock of the database
}

func (e *DoneError) Error() string {
	return fmt.Sprintf("%v: resource %q: key %q by %s with token %d at %s",
		ErrDone, e.Resource, e.Key, e.Replica, e.Token, e.At.UTC().Format(time.RFC3339Nano))
}

// Unwrap returns [ErrDone].
func (e *DoneError) Unwrap() error { return ErrDone }

// ReusedError says who has used the key for something else, and when.
type ReusedError struct {
	Resource, Key    string
	Digest, Recorded string // of the holder that is refused, and the one that is recorded
	Replica          string
	At               time.Time // by the clock of the database
}

func (e *ReusedError) Error() string {
	return fmt.Sprintf("%v: resource %q: key %q has digest %q, %s recorded it with %q at %s", ErrReused,
		e.Resource, e.Key, e.Digest, e.Replica, e.Recorded, e.At.UTC().Format(time.RFC3339Nano))
}

// Unwrap returns [ErrReused].
func (e *ReusedError) Unwrap() error { return ErrReused }

// CleanedError says up to which tick keys were removed.
type CleanedError struct {
	Resource, Key string
	Tick          time.Time
	Cleaned       time.Time // keys of this tick and earlier ones may have been removed
}

func (e *CleanedError) Error() string {
	return fmt.Sprintf("%v: resource %q: key %q: its tick %s is not after %s, up to which keys were removed", ErrCleaned,
		e.Resource, e.Key, e.Tick.UTC().Format(time.RFC3339Nano), e.Cleaned.UTC().Format(time.RFC3339Nano))
}

// Unwrap returns [ErrCleaned].
func (e *CleanedError) Unwrap() error { return ErrCleaned }

// EndedError says how the transaction ended before the caller's function returned.
type EndedError struct {
	Resource, Key string
	Committed     bool // always false without a key: then it is unknown. What fn wrote after the end may be committed anyway
}

func (e *EndedError) Error() string {
	how := "it was rolled back"
	switch {
	case e.Committed:
		how = "it was committed"
	case e.Key == "":
		how = "without a key, it is unknown whether it was committed"
	}
	return fmt.Sprintf("%v: resource %q: key %q: %s", ErrEnded, e.Resource, e.Key, how)
}

// Unwrap returns [ErrEnded].
func (e *EndedError) Unwrap() error { return ErrEnded }

// SchemaError says which version of the tables was found.
type SchemaError struct {
	Table string // the one that has the version
	Have  int64  // 0: none was found
	Want  int64
	cause error // of the database, if a column is missing
}

func (e *SchemaError) Error() string {
	text := fmt.Sprintf("%v: table %s has version %d, this program needs %d", ErrSchema, e.Table, e.Have, e.Want)
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

// Unwrap returns [ErrSchema], and the error of the database if there was one.
func (e *SchemaError) Unwrap() []error {
	if e.cause == nil {
		return []error{ErrSchema}
	}
	return []error{ErrSchema, e.cause}
}
