package browsertest

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
)

// A connection may stay open although nothing comes over it.
func TestPage_SaysThatNoUpdateComes(t *testing.T) {
	s := start(t, nodes(t), jobs()...).serve(nil)
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

func TestPage_ReadsItselfWithoutAStream(t *testing.T) {
	s := start(t, nodes(t), jobs()...).serve(nil)
	follower := s.follower()
	for range 100 { // as many as there may be
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
