package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/redlockfx/redlockfx/scheduler"
)

func anybody(*http.Request) (string, error) { return "ann", nil }

func TestPage_ShowsWhoLeadsAndFollowsAFailover(t *testing.T) {
	t.Parallel()
	s := start(t, jobs(time.Second)...).serve(nil)
	leader, follower := s.leader(), s.follower()
	b := open(t)
	b.do(chromedp.Navigate(follower.url))
	b.until(fmt.Sprintf(`document.querySelector("#leader h1 .name").textContent === %q`, leader.elector.Identity()))
	b.until(`document.getElementById("live").textContent === "live"`)
	b.until(`document.querySelectorAll("#jobs tbody tr").length === 5`)
	b.until(`document.querySelectorAll("#newest .state.ok").length > 0`)
	b.until(`document.querySelector("#jobs").textContent.includes("import <catalogue>")`) // as text

	get[chromedp.Void](b, `window.same = document.querySelector("#jobs")`)
	leader.Cut()
	b.until(fmt.Sprintf(`![%q].includes(document.querySelector("#leader h1 .name")?.textContent ?? %[1]q)`,
		leader.elector.Identity()))
	leader.Heal()
	b.until(`document.querySelectorAll("#timeline .change").length >= 2`)
	b.until(`window.same.isConnected`) // the page was changed in place, not loaded again
	b.quiet()
}

func TestPage_PausesResumesAndRunsAJob(t *testing.T) {
	t.Parallel()
	s := start(t, jobs(time.Second)...).serve(anybody)
	s.leader()
	b := open(t)
	button := func(label string) string { return fmt.Sprintf(`button[aria-label=%q]`, label) }
	b.do(chromedp.Navigate(s.follower().url))
	b.do(chromedp.Click(button("Pause invoices")), chromedp.WaitVisible(button("Resume invoices")))
	if !s.status("invoices").Paused {
		t.Error("the page says that the job is paused, the nodes do not")
	}
	b.do(chromedp.Focus(button("Resume invoices")), chromedp.KeyEvent(kb.Enter), // without a mouse
		chromedp.WaitVisible(button("Pause invoices")))
	if s.status("invoices").Paused {
		t.Error("the page says that the job is not paused, the nodes do")
	}
	b.do(chromedp.Click(button("Run invoices now")))
	b.until(`[...document.querySelectorAll("#newest tbody tr")].some((r) => r.textContent.includes("invoices") && r.textContent.includes("triggered"))`)
	if last := s.status("invoices").Last; !last.Manual {
		t.Errorf("the last run is %+v", last)
	}
	b.do(chromedp.Click(`#jobs a[href*="invoices"]`), chromedp.WaitVisible("#runs tbody tr"))
	b.until(`document.querySelector("h1 .name").textContent === "invoices"`)
	b.quiet()
}

func refusesActionsOfAnotherSite(t *testing.T, s *service) {
	leader := s.leader()
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<form id="f" method="post" action="%spause"><input name="job" value="invoices"></form>`+
			`<button onclick="f.submit()">win a prize</button>`, leader.url)
	}))
	defer evil.Close()
	b := open(t)
	b.loads(leader.url)
	elsewhere := strings.Replace(evil.URL, "127.0.0.1", "localhost", 1) // another site
	b.do(chromedp.Navigate(elsewhere), chromedp.Click("button"))
	b.until(`document.body.innerText.includes("cross-origin request")`)
	if s.status("invoices").Paused {
		t.Error("another site has paused a job")
	}
}

// A page that nobody sees must not cause work on the nodes.
func hiddenAsksForNothing(t *testing.T, s *service) {
	t.Parallel()
	follower := s.follower()
	b := open(t)
	b.do(chromedp.Navigate(follower.url))
	b.until(`document.getElementById("live").textContent === "live"`)
	get[chromedp.Void](b, `
		window.streams = 0;
		const real = EventSource;
		window.EventSource = function(url) { window.streams++; return new real(url); };
		window.EventSource.CLOSED = real.CLOSED;
		Object.defineProperty(document, "hidden", { configurable: true, get: () => window.away });
		window.away = true;
		document.dispatchEvent(new Event("visibilitychange"))`)
	before := get[string](b, `document.querySelector("main").outerHTML`)
	time.Sleep(7 * time.Second) // longer than the time between two reads
	if after := get[string](b, `document.querySelector("main").outerHTML`); before != after {
		t.Error("a hidden page has changed")
	}
	get[chromedp.Void](b, `window.away = false; document.dispatchEvent(new Event("visibilitychange"))`)
	b.until(`window.streams === 1`)
	b.do(chromedp.WaitVisible("#jobs"))
	b.quiet()
}

func fitsASmallScreen(t *testing.T, s *service) {
	leader := s.leader()
	b := open(t)
	b.loads(leader.url)
	by, why := scheduler.By(strings.Repeat("a long name ", 10)), scheduler.Because(strings.Repeat("x", 150))
	if err := leader.scheduler.Pause(t.Context(), "invoices", by, why); err != nil {
		t.Fatal(err)
	}
	b.until(`document.querySelector("#attention .paused") !== null`)
	for _, path := range []string{"", "job?name=import+%3Ccatalogue%3E", "job?name=invoices"} {
		for _, wide := range []int64{360, 390, 760, 1200} {
			b.do(chromedp.EmulateViewport(wide, 800), chromedp.Navigate(leader.url+path), chromedp.WaitVisible("h1"))
			if needs := get[int64](b, `document.documentElement.scrollWidth`); needs > wide {
				t.Errorf("%q needs %d px of %d", path, needs, wide)
			}
			if wider := get[[]string](b, wider); len(wider) > 0 {
				t.Errorf("%q, %d px: wider than their section: %q", path, wide, wider)
			}
			if bad := get[[]string](b, squeezed); len(bad) > 0 {
				t.Errorf("%q, %d px: squeezed or overlapping: %q", path, wide, bad)
			}
		}
	}
}

// squeezed finds labels that are broken within a word, and texts that overlap others.
const squeezed = `(() => {
	const seen = (e) => e.checkVisibility() && e.textContent.trim();
	const bad = [];
	const lineHeight = (e) => parseFloat(getComputedStyle(e).lineHeight);
	for (const e of document.querySelectorAll("dt, .badge, .state, h2, button, nav a")) {
		const words = e.textContent.trim().split(/\s+/).length;
		if (seen(e) && e.getBoundingClientRect().height > lineHeight(e) * words + 14) bad.push(e.textContent.trim());
	}
	const texts = [...document.querySelectorAll("dt, dd, li > span, td, tbody th, h1, h2, .captions li, .hours li, #summary, button")].filter(seen);
	const boxes = texts.map((e) => {
		const range = document.createRange();
		range.selectNodeContents(e);
		return [e, [...range.getClientRects()].filter((r) => r.width > 1 && r.height > 1)];
	});
	for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
		const [a, of] = boxes[i], [b, others] = boxes[j];
		if (a.contains(b) || b.contains(a)) continue;
		if (of.some((r) => others.some((o) => Math.min(r.right, o.right) - Math.max(r.left, o.left) > 2 &&
			Math.min(r.bottom, o.bottom) - Math.max(r.top, o.top) > 4))) bad.push(a.textContent.trim() + " | " + b.textContent.trim());
	}
	return bad;
})()`
