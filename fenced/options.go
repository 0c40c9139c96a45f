package fenced

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/internal/name"
)

const (
	defaultRetention = 30 * 24 * time.Hour
	minRetention     = time.Hour
	defaultSettle    = 30 * time.Second
)

// Option is an option of [New] and [Schema].
type Option func(*config)

type config struct {
	tables    tables
	retention time.Duration
	settle    time.Duration
	replica   string
}

// WithTables sets the names of the two tables; redlockfx_fences and redlockfx_keys if not set. A name consists of letters,
// digits and underscores, and may have the name of a schema and a dot before it. It is quoted, so its case counts.
func WithTables(fences, keys string) Option {
	return func(c *config) { c.tables = tables{fences, keys} }
}

// WithRetention sets for how long after its tick [DB.Clean] keeps a key; 30 days if not set, at least an hour. It must be
// longer than the catch-up window of every job.
func WithRetention(d time.Duration) Option { return func(c *config) { c.retention = d } }

// WithSettle sets how long [Tx] may take to find out whether a commit took place whose answer was lost; 30 s if not
// set. Tx may use that time even after its context has ended.
func WithSettle(d time.Duration) Option { return func(c *config) { c.settle = d } }

// WithReplica sets the name of this process that others read in their errors, at most 200 bytes; host, process and a random
// part if not set.
func WithReplica(name string) Option { return func(c *config) { c.replica = name } }

func newConfig(opts []Option) (config, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown" // it is for people
	}
	c := config{
		tables: tables{"redlockfx_fences", "redlockfx_keys"}, retention: defaultRetention, settle: defaultSettle,
		replica: fmt.Sprintf("%.150s-%d-%.6s", host, os.Getpid(), rand.Text()),
	}
	for _, opt := range opts {
		opt(&c)
	}
	problems := []error{c.tables.problem(), name.Check("replica", c.replica)}
	if c.retention < minRetention {
		problems = append(problems, fmt.Errorf("retention %v is shorter than %v", c.retention, minRetention))
	}
	if c.settle <= 0 {
		problems = append(problems, fmt.Errorf("settle time %v must be positive", c.settle))
	}
	return c, errors.Join(problems...)
}

// tables are the names of the two tables.
type tables struct{ fences, keys string }

// The databases cut or refuse longer names.
var tableName = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,62}$`)

func (t tables) problem() error {
	var problems []error
	for _, table := range []string{t.fences, t.keys} {
		if !tableName.MatchString(table) {
			problems = append(problems, fmt.Errorf(
				"table name %q must be at most 63 letters, digits and underscores, with at most one schema before it", table))
		}
	}
	if strings.EqualFold(t.fences, t.keys) { // some databases ignore the case of table names
		problems = append(problems, fmt.Errorf("both tables are called %q", t.keys))
	}
	return errors.Join(problems...)
}

func (t tables) quoted(mark byte) tables {
	quote := func(table string) string {
		return string(mark) + strings.Replace(table, ".", string(mark)+"."+string(mark), 1) + string(mark)
	}
	return tables{quote(t.fences), quote(t.keys)}
}
