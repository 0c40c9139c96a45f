// Mutants breaks the promises of the library, one at a time, and runs the test that must then fail. Run it in the
// folder internal/testkit/repo:
//
//	go run ./mutants [-run text]
//
// A mutant is a file testdata/<folder>/<name>.patch: the rule that it breaks, as a sentence; the package and the test
// that must fail; and a unified diff, whose paths start at the root of the repository. Line numbers do not matter,
// because the code moves: the lines of a hunk must be in exactly one place of the file. Every test first runs without a
// patch, because a test that fails then would notice everything.
//
// The folders are the promises, numbered as here, and the packages jobstore, jobmachine, quorum and guard, for the other
// rules of the code that decides there:
//
//	p1   at most one valid lease per name
//	p2   a leader's context ends before another replica can lead
//	p3   tokens increase
//	p4   a node that may have lost its state grants nothing until the longest TTL has passed
//	p5   a hold that failed, was canceled or is over leaves no key behind
//	p6   a hung, dead or slow minority delays no call and costs no lease
//	p7   a lease is released only after the work under it has returned
//	p8   a callback never runs twice at a time, and at most once per term
//	p9   a tick starts at most once, and is run or recorded
//	p10  every wait, attempt and renewal is bounded and spaced
//	p11  nothing is left running after Close, Run or Stop, unless its error says so
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	part := flag.String("run", "", "only the mutants with this in their path")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	out, problems := log.New(os.Stdout, "", 0), log.New(os.Stderr, "", 0)
	if err := runAll(ctx, "../../..", "mutants/testdata", *part, out, problems); err != nil {
		problems.Fatal("mutants: ", err)
	}
}

// runAll runs the mutants of the folder that have part in their path, as many at a time as there are processors. It
// writes a line to out for each mutant that a test notices, and a line to problems for each other mutant.
func runAll(ctx context.Context, root, folder, part string, out, problems *log.Logger) error {
	mutants, broken := read(root, os.DirFS(folder))
	for _, err := range broken {
		problems.Println(err)
	}
	mutants = slices.DeleteFunc(mutants, func(m mutant) bool { return !strings.Contains(m.path, part) })
	total := len(mutants) + len(broken)
	if total == 0 {
		return fmt.Errorf("no patch in %s has %q in its path", folder, part)
	}
	packages := map[string][]mutant{}
	for _, m := range mutants {
		packages[m.pkg] = append(packages[m.pkg], m)
	}
	if err := inParallel(ctx, slices.Collect(maps.Values(packages)), func(of []mutant) error {
		return passes(ctx, root, of)
	}); err != nil {
		return err
	}

	var noticed atomic.Int64
	_ = inParallel(ctx, mutants, func(m mutant) error { // each mutant is reported separately
		start := time.Now()
		by, err := m.run(ctx, root)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			problems.Printf("%s: %v", m.path, err)
		default:
			noticed.Add(1)
			out.Printf("%s: noticed by %s in %v", m.path, by, time.Since(start).Round(time.Second/10))
		}
		return nil
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if left := total - int(noticed.Load()); left > 0 {
		return fmt.Errorf("%d of %d mutants are not noticed", left, total)
	}
	out.Printf("%d mutants, all noticed", total)
	return nil
}

// inParallel calls do with each of all, as many at a time as there are processors, until ctx is done. It returns all errors.
func inParallel[T any](ctx context.Context, all []T, do func(T) error) error {
	work := make(chan T, len(all))
	for _, one := range all {
		work <- one
	}
	close(work)
	var mu sync.Mutex // guards problems
	var problems []error
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for one := range work {
				if ctx.Err() != nil {
					return
				}
				if err := do(one); err != nil {
					mu.Lock()
					problems = append(problems, err)
					mu.Unlock()
				}
			}
		})
	}
	workers.Wait()
	return errors.Join(problems...)
}
