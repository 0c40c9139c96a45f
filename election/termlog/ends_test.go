package termlog_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election/termlog"
)

// off returns how much two times differ.
func off(a, b time.Time) time.Duration { return a.Sub(b).Abs() }

func TestTerms_SayWhenATermEnded(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		observer := c.candidate("observer")
		p := c.candidate("a").run()
		p.leads()
		time.Sleep(time.Second)
		if got := observer.knows()[0]; !got.Until.IsZero() || got.Ended {
			t.Errorf("a term that has just begun is recorded as %+v", got)
		}
		time.Sleep(3 * termlog.Every)
		if got := observer.knows(); len(got) != 1 || got[0].Ended || off(got[0].Until, time.Now()) > termlog.Every {
			t.Errorf("at %v a term that lasts is recorded as %+v", time.Now(), got)
		}
		p.stop()
		<-p.ended
		ended := time.Now()
		time.Sleep(10 * time.Minute)
		if got := observer.knows(); len(got) != 1 || !got[0].Ended || off(got[0].Until, ended) > 10*time.Millisecond {
			t.Errorf("a term that ended at %v is recorded as %+v", ended, got)
		}

		p.run().leads()
		time.Sleep(5*termlog.Every + time.Second)
		cut := time.Now()
		p.links.Cut() // so nobody can record the end
		time.Sleep(10 * time.Minute)
		got := observer.knows()
		if len(got) != 2 || got[0].Ended || got[0].Until.After(cut) || off(got[0].Until, cut) > termlog.Every {
			t.Errorf("a term that was cut off at %v is recorded as %+v", cut, got)
		}
	})
}

// Nodes may have missed the last record of a term.
func TestTerms_TheLatestEndIsShown(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		observer := c.candidate("observer")
		began := time.Now().Add(-time.Minute).UnixMicro()
		for i, lasted := range []string{"30000000", "40000000", "40000000."} {
			c.recorded(i, fmt.Sprintf("%d %d+%s a", began, began, lasted))
		}
		observer.links.Cut(0)
		want := time.UnixMicro(began + 40000000)
		if got := observer.knows(); len(got) != 1 || !got[0].Until.Equal(want) || !got[0].Ended {
			t.Errorf("got %+v, want one end at %v", got, want)
		}
	})
}

// When Run is over, nothing of its last term is still being recorded, although a panic waits for no release.
func TestHooks_HaveRecordedTheEndWhenRunIsOver(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		p := c.candidate("a")
		p.OnLeader(func(context.Context) {
			time.Sleep(time.Minute)
			panic("boom")
		})
		p.links.Delay(time.Millisecond)
		defer func() {
			if got := c.candidate("observer").knows(); recover() == nil || len(got) != 1 || !got[0].Ended {
				t.Errorf("when Run has panicked, the term is recorded as %+v", got)
			}
		}()
		_ = p.Run(t.Context())
	})
}
