package clock

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

func TestGettime_ReadsTheKernelsClocks(t *testing.T) {
	before, errno := gettime(clockBoottime)
	if errno != 0 {
		t.Fatal(errno)
	}
	uptime, err := os.ReadFile("/proc/uptime") // the same clock, in hundredths of a second
	want.NoError(t, err)
	after, _ := gettime(clockBoottime)
	seconds, err := strconv.ParseFloat(strings.Fields(string(uptime))[0], 64)
	want.NoError(t, err)
	up := time.Duration(seconds * float64(time.Second))
	if up < before-20*time.Millisecond || up > after+time.Millisecond {
		t.Errorf("up for %v, but the clock went from %v to %v", up, before, after)
	}

	const clockMonotonic = 1
	start, _ := gettime(clockMonotonic)
	began := time.Now()
	for time.Since(began) < time.Millisecond {
		continue
	}
	took := time.Since(began)
	if end, _ := gettime(clockMonotonic); end-start < took {
		t.Errorf("the monotonic clock advanced by %v in %v", end-start, took)
	}

	if _, errno := gettime(99); errno != syscall.EINVAL {
		t.Errorf("a clock that does not exist: %v", errno)
	}
}

func TestMachinePair_ReadsInOrder(t *testing.T) {
	read := machinePair()
	last := time.Duration(0)
	for range 1000 {
		before, counting, after := read()
		if before < last || after < before || counting <= 0 {
			t.Fatalf("%v, %v, %v after %v", before, counting, after, last)
		}
		last = after
	}
}
