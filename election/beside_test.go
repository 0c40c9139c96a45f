package election_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/inside"
)

// What runs beside Run is called in each Run, also in one under way, and has returned when Run has.
func TestBeside_RunsAsLongAsRun(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		a := c.candidate("a")
		var called, returned [2]int
		beside := func(i int) {
			inside.Beside(a.Elector, func(ctx context.Context) {
				called[i]++
				<-ctx.Done()
				time.Sleep(time.Second)
				returned[i]++
			})
		}
		beside(0)
		a.run()
		synctest.Wait()
		beside(1)
		synctest.Wait()
		if want := [2]int{1, 1}; called != want || returned != [2]int{} {
			t.Errorf("called %v times, returned %v times", called, returned)
		}
		a.again()
		synctest.Wait()
		if called != [2]int{2, 2} || returned != [2]int{1, 1} {
			t.Errorf("in the next Run: called %v times, returned %v times", called, returned)
		}
	})
}
