package scheduler

import (
	"strings"
	"testing"

	"github.com/redlockfx/redlockfx/internal/name"
)

// People find the job in the name of its lease. Each job of each election has its own lease.
func TestLock_NamesTheJob(t *testing.T) {
	long := strings.Repeat("é", name.MaxLen/2)
	seen := make(map[string]bool)
	for _, election := range []string{"a", "b"} {
		for _, job := range []string{"invoices", long, "x" + long[:name.MaxLen-2], "xx" + long[:name.MaxLen-2]} {
			lock := lockOf(election, job)
			if err := name.Check("lock", lock); err != nil || seen[lock] || !strings.HasPrefix(lock, "run:"+job[:min(len(job), 150)]) {
				t.Errorf("%q of %q: %v", lock, job, err)
			}
			seen[lock] = true
		}
	}
}
