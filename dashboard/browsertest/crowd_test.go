package browsertest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/redlockfx/redlockfx/dashboard"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/scheduler"
)

// crowd returns two hundred jobs that run only when they are triggered. Every second one fails.
func crowd() (all []scheduler.Job) {
	for i := range 200 {
		job := scheduler.Job{Name: fmt.Sprintf("job %03d", i), Spec: "0 2 * * *", Run: func(context.Context, scheduler.Run) error {
			if i%2 == 1 {
				return errors.New("no paper")
			}
			return nil
		}}
		all = append(all, job)
	}
	return all
}

// Somebody on call looks at two hundred jobs, with the keyboard, while thirty of them begin to fail.
func TestPage_OfTwoHundredJobs(t *testing.T) {
	t.Parallel()
	s := start(t, crowd()...).serve(anybody, dashboard.JobLink("logs", "https://logs.example/search?q={job}&last=1d"))
	leader := s.leader()
	fail := func(from, upTo int) {
		for i := from; i < upTo; i += 2 {
			want.NoError(t, leader.scheduler.Trigger(t.Context(), fmt.Sprintf("job %03d", i)))
		}
	}
	b := open(t)
	_, err := chromedp.Call(b.ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kolkata"})
	want.NoError(t, err)
	b.do(chromedp.Navigate(s.follower().url))
	b.until(`document.querySelectorAll("#jobs tbody tr").length === 100`)
	if local := get[string](b, `document.querySelector("#jobs tbody time").textContent`); local[len(local)-len("07:30:00 local"):] != "07:30:00 local" {
		t.Errorf("two o'clock in UTC is %q for a browser in India", local)
	}
	if to := get[string](b, `document.querySelector("#jobs tbody a[rel=noreferrer]").href`); to != "https://logs.example/search?q=job%20000&last=1d" {
		t.Errorf("the logs of the first job are at %q", to)
	}

	// The focus and the order stay while somebody is in the table.
	b.do(chromedp.Focus(`#jobs tbody a[href="job?name=job%20042"]`))
	fail(121, 181)
	b.until(`document.querySelectorAll("#attention li.failed").length === 30`) // all of them, with reason and age
	b.until(`[...document.querySelectorAll("#attention li.failed")].every((e) => /^.?\s*job \d+ failed: no paper \d+ (s|min) ago$/.test(e.innerText.replace(/\s+/g, " ").trim()))`)
	const rows = `[...document.querySelectorAll("#jobs tbody tr")].map((e) => e.querySelector("a").textContent)`
	const focused = `document.activeElement.textContent`
	if got := get[string](b, focused); got != "job 042" {
		t.Errorf("the focus is at %q", got)
	}
	if got := get[[]string](b, rows); len(got) != 100 || got[0] != "job 000" || got[42] != "job 042" || got[70] != "job 121" {
		t.Errorf("the rows are %q", got)
	}
	b.do(chromedp.KeyEvent(kb.Tab))
	if got := get[string](b, focused); got != "logs" {
		t.Errorf("the next stop is %q", got)
	}
	get[chromedp.Void](b, `document.activeElement.blur()`)
	b.until(rows + `[0] === "job 121"`) // jobs in trouble come first

	// What somebody types stays, and so does the focus in a list that grows.
	b.do(chromedp.SendKeys("#q", "job 04"))
	fail(181, 191)
	b.until(`document.querySelectorAll("#attention li.failed").length === 35`)
	if got := get[string](b, `document.activeElement.value`); got != "job 04" {
		t.Errorf("the field has %q", got)
	}
	b.do(chromedp.Focus(`#attention a[href="job?name=job%20187"]`))
	fail(101, 121)
	b.until(`document.querySelectorAll("#attention li.failed").length === 45`)
	if got := get[string](b, focused); got != "job 187" {
		t.Errorf("the focus is at %q", got)
	}

	// A nightly job has a week in its picture, and the other periods are a key away.
	b.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("#runs"))
	b.until(`document.querySelector("#timeline h2").textContent.startsWith("The last week")`)
	b.until(`document.querySelectorAll("#timeline rect.bad").length === 1`)
	b.do(chromedp.Focus(`#timeline nav a[href*="period=day"]`), chromedp.KeyEvent(kb.Enter))
	b.until(`document.querySelector("#timeline h2").textContent.startsWith("The last day")`)
	for _, path := range []string{"", "?period=week", "job?name=job+187"} {
		for _, wide := range []int64{360, 1200} {
			b.do(chromedp.EmulateViewport(wide, 800), chromedp.Navigate(s.follower().url+path), chromedp.WaitVisible("h1"))
			if needs := get[int64](b, `document.documentElement.scrollWidth`); needs > wide {
				t.Errorf("%q needs %d px of %d", path, needs, wide)
			}
			if wider := get[[]string](b, wider); len(wider) > 0 {
				t.Errorf("%q, %d px: wider than their section: %q", path, wide, wider)
			}
		}
	}
	b.quiet()
}

// wider finds tables that are wider than their section.
const wider = `[...document.querySelectorAll("table")].filter((e) =>
	e.getBoundingClientRect().right > e.closest("section").getBoundingClientRect().right).map((e) => e.closest("section").id)`
