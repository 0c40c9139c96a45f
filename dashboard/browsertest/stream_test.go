package browsertest

import (
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// The subtests share a service and mostly wait.
func TestPage_WithoutItsStream(t *testing.T) {
	t.Parallel()
	s := start(t, jobs(time.Second)...).serve(nil)
	s.leader()
	t.Run("says that no update comes", func(t *testing.T) { saysThatNoUpdateComes(t, s.with(t)) })
	t.Run("reads itself", func(t *testing.T) { readsItselfWithoutAStream(t, s.with(t)) })
	t.Run("asks for nothing while it is hidden", func(t *testing.T) { hiddenAsksForNothing(t, s.with(t)) })
}

// A connection may stay open although nothing comes over it.
func saysThatNoUpdateComes(t *testing.T, s *service) {
	t.Parallel()
	b := open(t)
	b.do(chromedp.Navigate(s.leader().url))
	b.until(`document.getElementById("live").textContent === "live"`)
	get[chromedp.Void](b, `
		window.real = EventSource;
		window.EventSource = function() { this.close = () => {}; this.readyState = 1; };
		document.dispatchEvent(new Event("visibilitychange"))`)
	b.until(`document.getElementById("live").textContent === "no update for 15 s, retrying"`)
	b.until(`document.documentElement.classList.contains("stale")`) // an old page does not look up to date
	get[chromedp.Void](b, `window.EventSource = window.real; document.dispatchEvent(new Event("visibilitychange"))`)
	b.until(`document.getElementById("live").textContent === "live"`)
	b.until(`!document.documentElement.classList.contains("stale")`)
	b.quiet()
}

func readsItselfWithoutAStream(t *testing.T, s *service) {
	t.Parallel()
	follower := s.followers()[1] // no other subtest uses its page
	for range 100 {              // as many as there may be
		answer, err := http.Get(follower.url + "events")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = answer.Body.Close() })
	}
	b := open(t)
	b.do(chromedp.Navigate(follower.url))
	b.until(`document.getElementById("live").textContent === "updated every 10 s"`)
	b.until(`document.querySelectorAll("#jobs tbody tr").length === 5`)
}
