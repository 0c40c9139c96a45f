package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// A call of one goroutine waits most of the time. If the cores halt meanwhile, waking them can take longer than the
// call. So rows measure it in two more ways: while the cores are kept awake, and while everything runs on one core.

// spinnerVariable is the environment variable that makes this program a process that keeps the cores awake.
const spinnerVariable = "REDLOCKFX_BENCH_SPINNER"

// keepAwake starts a process that keeps the cores awake until stop is called. Everything else has priority over it.
func keepAwake(ctx context.Context) (stop func()) {
	process := exec.CommandContext(ctx, must(os.Executable()))
	process.Env = append(os.Environ(), spinnerVariable+"=1")
	process.Stderr = os.Stderr
	must(process.StdinPipe()) // the process ends when its input does
	check(process.Start())
	return func() { kill(process) }
}

// beSpinner keeps the cores busy until standard input ends.
func beSpinner() {
	const lowest = 19
	for range runtime.GOMAXPROCS(0) {
		go func() { // ends with the process
			runtime.LockOSThread()
			check(syscall.Setpriority(syscall.PRIO_PROCESS, 0, lowest)) // Linux: of this thread
			for n := 0; ; n++ {
			}
		}()
	}
	must(io.Copy(io.Discard, os.Stdin))
}

// onOneCore runs fn while the nodes and this program share one core. It needs the tool taskset.
func (b *bench) onOneCore(ctx context.Context, fn func()) {
	_, cores, _ := strings.Cut(taskset(ctx, "-p", "-c", strconv.Itoa(os.Getpid())), ": ")
	first, _, _ := strings.Cut(strings.ReplaceAll(cores, "-", ","), ",")
	processes := []string{strconv.Itoa(os.Getpid())}
	for _, admin := range b.admins {
		processes = append(processes, must(admin.InfoMap(ctx, "server").Result())["Server"]["process_id"])
	}
	runOn := func(cores string) {
		for _, id := range processes {
			taskset(context.WithoutCancel(ctx), "-a", "-p", "-c", cores, id)
		}
	}
	defer func() {
		runOn(cores)
		runtime.SetDefaultGOMAXPROCS()
	}()
	runOn(first)
	runtime.GOMAXPROCS(1)
	fn()
}

func taskset(ctx context.Context, args ...string) string {
	output, err := exec.CommandContext(ctx, "taskset", args...).CombinedOutput()
	if err != nil {
		check(fmt.Errorf("taskset %s: %w: %s", strings.Join(args, " "), err, output))
	}
	return strings.TrimSpace(string(output))
}
