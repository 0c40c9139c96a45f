package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
)

func main() {
	if variable := os.Getenv(replicaVariable); variable != "" {
		exit(beReplica(variable))
		return
	}
	only := flag.String("only", "", "comma-separated `scenarios`; all if empty")
	who := flag.String("peers", "", "comma-separated parts of the names of `peers`; all if empty")
	file := flag.String("write", "", "put the tables into this `file`, between its marks")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	exit(run(ctx, *only, *who, *file))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only, who, file string) error {
	chosen := func(name, among string) bool {
		return among == "" || slices.ContainsFunc(strings.Split(among, ","), func(part string) bool { return strings.Contains(name, part) })
	}
	var all []outcome
	var problems []error
	for i := range scenarios {
		s := &scenarios[i]
		if !chosen(s.name, only) {
			continue
		}
		var mu sync.Mutex // guards all and problems
		var wg sync.WaitGroup
		for j := range peers {
			p := &peers[j]
			if !chosen(p.name, who) {
				continue
			}
			wg.Go(func() { // ends with the scenario
				o, err := play(ctx, p, s)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					problems = append(problems, fmt.Errorf("%s, %s: %w", s.name, p.name, err))
					return
				}
				all = append(all, o)
			})
		}
		wg.Wait()
	}
	text := report(all)
	fmt.Print(text)
	if file != "" && len(problems) == 0 {
		problems = append(problems, replace(file, text))
	}
	return errors.Join(problems...)
}
