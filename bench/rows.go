package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

// bench is what the rows share.
type bench struct {
	cluster *redisproc.Cluster
	admins  []redis.UniversalClient // one a node, for looking at it
	report  report
}

// row measures one theme and reports its lines and requirements.
type row struct {
	name    string
	measure func(*bench, context.Context) error
}

// allRows, in the order of the table: the last one leaves a node dead.
var allRows = []row{
	{"speed", (*bench).speed},
	{"overhead", (*bench).overhead},
	{"contend", (*bench).contend},
	{"handover", (*bench).handover},
	{"takeover", (*bench).takeover},
	{"idle", (*bench).idle},
	{"renew", (*bench).renew},
	{"leftovers", (*bench).leftovers},
	{"elect", (*bench).elect},
	{"crash", (*bench).crash},
	{"wake", (*bench).wake},
	{"follow", (*bench).follow},
	{"thousand", (*bench).thousand},
	{"crowd", (*bench).crowd},
	{"ticks", (*bench).ticks},
	{"jobs", (*bench).jobs},
	{"month", (*bench).month},
	{"faults", (*bench).faults},
}

func names(rows []row) (all []string) {
	for _, r := range rows {
		all = append(all, r.name)
	}
	return all
}

// selected returns the rows that only names, in the order of the table.
func selected(only string) ([]row, error) {
	if only == "" {
		return allRows, nil
	}
	wanted := strings.Split(only, ",")
	for _, name := range wanted {
		if !slices.Contains(names(allRows), name) {
			return nil, fmt.Errorf("no row %q, there are %s", name, strings.Join(names(allRows), ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(allRows), func(r row) bool {
		return !slices.Contains(wanted, r.name)
	}), nil
}
