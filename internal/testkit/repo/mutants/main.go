// Mutants breaks the promises of the library, one at a time, and runs the test that must then fail. Run it in the
// folder internal/testkit/repo:
//
//	go run ./mutants [NAME...]
//
// A NAME is a folder of testdata, as p1, or a mutant in it, as p1/majority. Without names, all run.
//
// A mutant is a file testdata/<folder>/<name>.patch: the rule that it breaks, as a sentence; the package and the test
// that must fail; and a unified diff, whose paths start at the root of the repository. Line numbers do not matter,
// because the code moves: the lines of a hunk must be in exactly one place of the file. Each test first runs without a
// patch, because a test that fails then would notice everything.
//
// The folders are the promises, numbered as here, and the packages jobstore, jobmachine, quorum, guard and lists, for the
// other rules of the code that decides there:
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
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	out, problems := log.New(os.Stdout, "", 0), log.New(os.Stderr, "", 0)
	if err := runAll(ctx, "../../..", os.DirFS("mutants/testdata"), os.Args[1:], out, problems); err != nil {
		problems.Fatal("mutants: ", err)
	}
}

// runAll runs the mutants with these names, or all, as many at a time as there are processors. It writes a line to out
// for each mutant that a test notices, and a line to problems for each other mutant.
func runAll(ctx context.Context, root string, patches fs.FS, names []string, out, problems *log.Logger) error {
	begin := time.Now()
	files, err := choose(patches, names)
	if err != nil {
		return err
	}
	mutants, broken := read(root, patches, files)
	for _, err := range broken {
		problems.Println(err)
	}
	whole := map[string]func() (binary, error){} // the tests of a package without a patch, once it is needed
	for _, m := range mutants {
		if whole[m.pkg] == nil {
			whole[m.pkg] = sync.OnceValues(func() (binary, error) { return compile(ctx, root, m.pkg, nil) })
			defer func() {
				b, _ := whole[m.pkg]()
				_ = b.close()
			}()
		}
	}
	var noticed atomic.Int64
	inParallel(mutants, func(m mutant) {
		start := time.Now()
		b, err := whole[m.pkg]()
		if err == nil {
			err = m.run(ctx, root, b)
		}
		switch {
		case ctx.Err() != nil:
		case err != nil:
			problems.Printf("%s: %v", m.path, err)
		default:
			noticed.Add(1)
			out.Printf("%s: noticed by %s in %v", m.path, m.test, time.Since(start).Round(time.Second/10))
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if left := len(files) - int(noticed.Load()); left > 0 {
		return fmt.Errorf("%d of %d mutants are not noticed", left, len(files))
	}
	out.Printf("%d mutants, all noticed, in %v", len(files), time.Since(begin).Round(time.Second))
	return nil
}

// choose returns the files of the mutants with these names, or all. A name is that of a folder or of a mutant.
func choose(patches fs.FS, names []string) ([]string, error) {
	all, err := fs.Glob(patches, "*/*.patch")
	if err != nil || len(names) == 0 {
		return all, err
	}
	var chosen []string
	for _, name := range names {
		before := len(chosen)
		name = strings.TrimSuffix(strings.TrimSuffix(name, "/"), ".patch")
		for _, file := range all {
			if name == path.Dir(file) || name+".patch" == file {
				chosen = append(chosen, file)
			}
		}
		if len(chosen) == before {
			return nil, unknown(name, all)
		}
	}
	slices.Sort(chosen)
	return slices.Compact(chosen), nil
}

// unknown says what there is, in the folder of the name or beside it.
func unknown(name string, all []string) error {
	var folders, beside []string
	for _, file := range all {
		folders = append(folders, path.Dir(file))
		if path.Dir(file) == path.Dir(name) {
			beside = append(beside, strings.TrimSuffix(path.Base(file), ".patch"))
		}
	}
	if len(beside) > 0 {
		return fmt.Errorf("there is no mutant %s; %s has %s", name, path.Dir(name), strings.Join(beside, ", "))
	}
	folders = slices.Compact(folders)
	return fmt.Errorf("there is no folder or mutant %s; the folders are %s", name, strings.Join(folders, ", "))
}

// read returns the mutants that can be run, and an error for each other file.
func read(root string, patches fs.FS, files []string) (mutants []mutant, problems []error) {
	for _, file := range files {
		text, err := fs.ReadFile(patches, file)
		m, bad := parse(strings.TrimSuffix(file, ".patch"), string(text))
		if err = errors.Join(err, bad); err == nil {
			_, err = m.apply(root)
		}
		if err == nil && !m.hasTest(root) {
			err = fmt.Errorf("test %s of package ./%s does not exist: name another one in the line \"test:\"", m.test, m.pkg)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", file, err))
			continue
		}
		mutants = append(mutants, m)
	}
	return mutants, problems
}

// inParallel calls do with each of all, as many at a time as there are processors.
func inParallel[T any](all []T, do func(T)) {
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var calls sync.WaitGroup
	for _, one := range all {
		slots <- struct{}{}
		calls.Go(func() {
			do(one)
			<-slots
		})
	}
	calls.Wait()
}
