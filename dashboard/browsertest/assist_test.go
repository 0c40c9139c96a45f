package browsertest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// The subtests share a service. The last two pause a job.
func TestPage_OfThoseWhoMayAct(t *testing.T) {
	s := start(t, jobs(time.Second)...).serve(anybody)
	t.Run("refuses actions of another site", func(t *testing.T) { refusesActionsOfAnotherSite(t, s.with(t)) })
	t.Run("is tables to a screen reader at any width", func(t *testing.T) { isTablesToAScreenReaderAtAnyWidth(t, s.with(t)) })
	t.Run("is walked with the tab key", func(t *testing.T) { isWalkedWithTheTabKey(t, s.with(t)) })
	t.Run("keeps the focus when it changes", func(t *testing.T) { keepsTheFocusWhenItChanges(t, s.with(t)) })
	t.Run("fits a small screen", func(t *testing.T) { fitsASmallScreen(t, s.with(t)) })
}

// The browser reports tables to a screen reader, even if a narrow screen shows the cells of a row below each other.
func isTablesToAScreenReaderAtAnyWidth(t *testing.T, s *service) {
	leader := s.leader()
	b := open(t)
	b.loads(leader.url)
	for _, wide := range []int64{360, 1200} {
		b.do(chromedp.EmulateViewport(wide, 800), chromedp.Navigate(leader.url), chromedp.WaitVisible("h1"))
		named := b.tree()
		for role, tag := range map[string]string{"table": "table", "row": "tr", "cell": "td"} {
			want := get[int](b, fmt.Sprintf(`[...document.querySelectorAll(%q)].filter((e) => e.checkVisibility()).length`, tag))
			if got := len(named[role]); got != want || want == 0 {
				t.Errorf("%d px: %d with the role %s, want %d", wide, got, role, want)
			}
		}
		rows, columns := strings.Join(named["rowheader"], "|"), strings.Join(named["columnheader"], "|")
		if !strings.Contains(rows, "|import <catalogue>") || !strings.Contains(columns, "|Last run") {
			t.Errorf("%d px: rows are headed %q, columns %q", wide, named["rowheader"], named["columnheader"])
		}
		if got := named["image"]; len(got) != 1 || !strings.Contains(got[0], "change") {
			t.Errorf("%d px: the timeline says %q", wide, got)
		}
		for _, role := range []string{"button", "link", "searchbox", "navigation", "region", "status"} {
			if len(named[role]) == 0 {
				t.Errorf("%d px: there is no %s", wide, role)
			}
			for _, name := range named[role] {
				if name == "" && role != "status" { // the content of a status is its name
					t.Errorf("%d px: a %s has no name", wide, role)
				}
			}
		}
	}
}

// tree returns the names of the page's elements, by role.
func (b *tab) tree() map[string][]string {
	b.t.Helper()
	all, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	want.NoError(b.t, err)
	text := func(v *accessibility.Value) (s string) {
		if v != nil {
			_ = json.Unmarshal(v.Value, &s) // a value that is no string counts as empty
		}
		return s
	}
	named := make(map[string][]string)
	for _, n := range all.Nodes {
		if !n.Ignored {
			named[text(n.Role)] = append(named[text(n.Role)], text(n.Name))
		}
	}
	return named
}

// The tab key reaches every link, field and button, in the order of the page, and each shows that it has the focus.
func isWalkedWithTheTabKey(t *testing.T, s *service) {
	leader := s.leader()
	b := open(t)
	b.loads(leader.url)
	get[chromedp.Void](b, `
		Object.defineProperty(document, "hidden", { get: () => true });
		document.dispatchEvent(new Event("visibilitychange"))`) // so that nothing changes meanwhile
	const which = `((e) => (e.id || "") + "|" + (e.getAttribute("href") || "") + "|" + e.tagName)`
	want := get[[]string](b, fmt.Sprintf(
		`[...document.querySelectorAll("a[href], button, input:not([type=hidden]), summary")].map(%s)`, which))
	if len(want) < 20 || !strings.HasPrefix(want[0], "|#jobs|") {
		t.Fatalf("the page has %q; want the skip link first", want)
	}
	for i, next := range want {
		b.do(chromedp.KeyEvent(kb.Tab))
		if got := get[string](b, which+`(document.activeElement)`); got != next {
			t.Fatalf("tab %d came to %q, want %q", i+1, got, next)
		}
		if style := get[string](b, `getComputedStyle(document.activeElement).outlineStyle`); style != "solid" {
			t.Errorf("%q does not show that it has the focus: %s", next, style)
		}
	}
}

// A focused link keeps the focus when the page changes around it, and inside it.
func keepsTheFocusWhenItChanges(t *testing.T, s *service) {
	leader := s.leader()
	b := open(t)
	b.loads(leader.url)
	b.do(chromedp.Focus(`#jobs a[href="job?name=invoices"]`))
	want.NoError(t, leader.scheduler.Pause(t.Context(), "invoices"))
	b.do(chromedp.WaitVisible(`#jobs .badge.paused`))
	if got := get[string](b, `document.activeElement.getAttribute("href") || document.activeElement.tagName`); got != "job?name=invoices" {
		t.Errorf("the focus is at %q", got)
	}
	b.quiet()
}
