package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// row measures one topic. Its limits are requirements, by the name of the figure.
type row struct {
	name    string
	measure func(*bench, context.Context)
	limits  map[string]limit
}

// limit is the bound of a figure, or of its ratio to the figure beside it.
type limit struct {
	ofRatio, isLeast bool
	bounds           on
}

// on has a bound for each number of nodes on which a figure is judged.
type on map[int]float64

func atMost(bound float64) limit      { return limit{bounds: on{five: bound}} }
func atLeast(bound float64) limit     { return limit{isLeast: true, bounds: on{five: bound}} }
func ratioAtMost(bound float64) limit { return limit{ofRatio: true, bounds: on{five: bound}} }
func ratioAtLeast(bound float64) limit {
	return limit{ofRatio: true, isLeast: true, bounds: on{five: bound}}
}

// allRows are in the order of the table. The last one leaves a node dead.
var allRows = []row{
	{"speed", (*bench).speed, map[string]limit{
		"goroutines: 1, KB":         {bounds: on{1: 1.8, 3: 3.7, five: 5.5}},
		"goroutines: 16, a second":  {ofRatio: true, isLeast: true, bounds: on{1: 1.3, 3: 2, five: 2}},
		"goroutines: 128, a second": {ofRatio: true, isLeast: true, bounds: on{1: 3, 3: 4, five: 5}},
	}},
	{"awake", (*bench).awake, map[string]limit{
		"goroutines: 1, p50 µs": {ofRatio: true, bounds: on{1: 0.9, 3: 1, five: 0.95}},
	}},
	{"core", (*bench).core, map[string]limit{"goroutines: 1, p50 µs": {ofRatio: true, bounds: on{1: 1.6}}}},
	{"overhead", (*bench).overhead, map[string]limit{
		"a grant in a pipeline, µs":   {bounds: on{1: 7.5, five: 7.5}},
		"a refusal in a pipeline, µs": {bounds: on{1: 5, five: 5}},
		"a grant under load, µs":      ratioAtMost(1.5),
	}},
	{"contend", (*bench).contend, map[string]limit{
		"50 in one Locker, holds a second":                     ratioAtLeast(0.9),
		"50 in one Locker, extra requests a hold":              atMost(3),
		"50 in 50 Lockers, holds a second":                     ratioAtLeast(0.9),
		"50 in 50 Lockers, extra requests a hold":              atMost(3),
		"50 in 50 Lockers, Jain index":                         atLeast(0.95),
		"50 in 50 Lockers, 20 ms apart, holds a second":        ratioAtLeast(0.9),
		"50 in 50 Lockers, 20 ms apart, extra requests a hold": atMost(3),
		"50 in 50 Lockers, 20 ms apart, Jain index":            atLeast(0.95),
	}},
	{"handover", (*bench).handover, map[string]limit{
		"waiting: 1, p50 ms": ratioAtMost(1.1), "waiting: 1, p99 ms": ratioAtMost(1.3),
		"waiting: 10, p50 ms": atMost(3), "waiting: 10, p99 ms": atMost(10),
		"waiting: 50, p50 ms": atMost(3), "waiting: 50, p99 ms": atMost(10),
	}},
	{"idle", (*bench).idle, map[string]limit{"commands a second of a waiter": atMost(0.2)}},
	{"join", (*bench).join, map[string]limit{"20,000 names, CPU ms": atMost(1000)}},
	{"renew", (*bench).renew, map[string]limit{
		"10,000 leases, wall ms":            atMost(100),
		"10,000 leases, CPU ms":             atMost(50),
		"10,000 leases, requests to a node": atMost(110),
	}},
	{"elect", (*bench).elect, map[string]limit{
		"followers: 1, p50 ms": atMost(5), "followers: 1, p99 ms": atMost(15),
		"followers: 10, p50 ms": atMost(5), "followers: 10, p99 ms": atMost(15),
		"followers: 20, p50 ms": atMost(5), "followers: 20, p99 ms": atMost(15),
	}},
	{"crash", (*bench).crash, map[string]limit{
		"lease over to next leader, p50 ms": atMost(10),
		"lease over to next leader, p99 ms": atMost(20),
	}},
	{"outage", (*bench).outage, nil},
	{"follow", (*bench).follow, map[string]limit{"commands a second of a follower": atMost(0.2)}},
	{"ticks", (*bench).ticks, map[string]limit{
		"tick to run, p50 ms":             atMost(1.5),
		"tick to run, p99 ms":             atMost(5),
		"round trips before a run starts": atMost(1),
		"Trigger to run, p99 ms":          atMost(50),
	}},
	{"burst", (*bench).burst, map[string]limit{"10,000 jobs due at once, s": atMost(0.6)}},
	{"runs", (*bench).runs, map[string]limit{"runs a second": atLeast(25_000)}},
	{"failover", (*bench).failover, map[string]limit{"10,000 jobs, term to first run, ms": atMost(300)}},
	{"first", (*bench).first, map[string]limit{
		"100,000 jobs, until each of 1,000 of every second has run, s": atMost(3), // including up to a second until its next tick
		"jobs of every second, longest gap ms":                         atMost(100),
	}},
	{"source", (*bench).source, map[string]limit{
		"100,000 rows, until a majority has them stored, s":     atMost(6),
		"a tick beside the first load, latest, ms":              atMost(500),
		"a row of the leader, KiB":                              atMost(3.6),
		"a load of 100,000 rows, p50 ms":                        atMost(600),
		"one row of 100,000 changed, Refresh to stored, p50 ms": atMost(800),
		"a tick beside further loads, latest, ms":               atMost(150),
	}},
	{"restart", (*bench).restart, map[string]limit{
		"one node of three, 10,000 jobs, longest gap ms":  atMost(100),
		"one node of three, 100,000 jobs, longest gap ms": atMost(100),
	}},
	{"read", (*bench).read, map[string]limit{
		"Jobs of 10,000, ms":                 atMost(150),
		"the status of one job, round trips": atMost(1),
	}},
	{"change", (*bench).change, map[string]limit{
		"Add to 1,000,000 jobs, p50 ms":      atMost(1),
		"Remove of 1,000,000 jobs, p50 ms":   atMost(1),
		"a change of 1,000,000 jobs, CPU ms": ratioAtMost(2), // more jobs than a cache holds; a cost that grew with them would be hundreds
	}},
	{"jobs", (*bench).jobs, map[string]limit{
		"next tick of a spec, µs":                   atMost(2),
		"adding 100,000 jobs, s":                    atMost(3),
		"a job of a follower, KiB":                  atMost(3),
		"a job of the leader, KiB":                  atMost(3),
		"leading with 100,000 jobs, % of a core":    atMost(1),
		"commands a second of a follower with jobs": atMost(0.2),
	}},
	{"memory", (*bench).memory, map[string]limit{
		"an idle job on a node, KiB":           atMost(0.5),
		"a job with 50 records on a node, KiB": atMost(6),
		"a forgotten job on a node, KiB":       atMost(0.01), // what a node keeps does not grow with the jobs
	}},
	{"month", (*bench).month, map[string]limit{"a job on a node, KiB": ratioAtMost(1.05)}},
	{"faults", (*bench).faults, map[string]limit{
		"one node hung, p99 ms":                                  ratioAtMost(1.5),
		"one node hung, goroutines more by the last third":       atMost(5),
		"one node 20 ms slow, p99 ms":                            ratioAtMost(1.5),
		"one node 20 ms slow, goroutines more by the last third": atMost(5),
		"two nodes hung, p99 ms":                                 ratioAtMost(1.5),
		"two nodes hung, goroutines more by the last third":      atMost(5),
		"calls that failed":                                      atMost(0),
	}},
}

// selected returns the rows with these names, in the order of the table.
func selected(names []string) (rows []row, err error) {
	for _, r := range allRows {
		if slices.Contains(names, r.name) {
			rows = append(rows, r)
		}
	}
	if len(rows) != len(names) {
		return nil, fmt.Errorf("rows %q: unknown or repeated name, there are %s", names, rowNames())
	}
	return rows, nil
}

// rowNames returns all names with commas between them.
func rowNames() string {
	var all []string
	for _, r := range allRows {
		all = append(all, r.name)
	}
	return strings.Join(all, ",")
}
