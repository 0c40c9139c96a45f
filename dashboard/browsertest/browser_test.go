package browsertest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

const waitLimit = 30 * time.Second

// chromium is the browser of all tests. It is started once, because starting it is what fails most often.
type chromium struct {
	ctx   context.Context // of its first tab, which stays empty
	close func()
	err   error
}

// browser starts Chromium when it is first called.
var browser = sync.OnceValue(func() chromium {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		return chromium{err: errors.New("there is no chromium: make tools installs it"), close: func() {}}
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.NoSandbox, // root cannot have a sandbox
		chromedp.WindowSize(1200, 900), chromedp.WSURLReadTimeout(time.Minute))
	process, kill := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeTab := chromedp.NewContext(process)
	return chromium{ctx, func() {
		if err := chromedp.Cancel(ctx); err != nil {
			fmt.Println("failed to close chromium:", err)
		}
		closeTab()
		kill()
	}, chromedp.Do(ctx)}
})

// tests closes the browser after the tests of the package.
type tests struct{ *testing.M }

func (t tests) Run() int {
	code := t.M.Run()
	browser().close()
	return code
}

// tab is a tab with cookies and storage of its own, with the complaints of the browser about it.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu         sync.Mutex // guards complaints
	complaints []string
}

// open opens a tab for the length of the test.
func open(t *testing.T) *tab {
	t.Helper()
	want.NoError(t, browser().err)
	ctx, closeTab := chromedp.NewContext(browser().ctx, chromedp.WithNewBrowserContext())
	b := &tab{t: t, ctx: ctx}
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Log(err)
		}
		closeTab()
	})
	want.NoError(t, chromedp.Listen(ctx, b.observe))
	if _, err := chromedp.Call(ctx, log.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	return b
}

// observe records what the browser would show in its console.
func (b *tab) observe(event any) {
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		b.complain(fmt.Sprintf("console.%s: %v", e.Type, e.Args))
	case *runtime.EventExceptionThrown:
		b.complain(fmt.Sprint(e.ExceptionDetails))
	case *log.EventEntryAdded:
		b.complain(fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
	}
}

func (b *tab) complain(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = append(b.complaints, text)
}

// do runs the steps, and fails the test if one is not possible in time.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, waitLimit)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%v; the page says:\n%s", err, b.text())
	}
}

// get returns the value of an expression in the page.
func get[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, waitLimit)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v; the page says:\n%s", expression, err, b.text())
	}
	return value
}

// until waits for an expression to be true. It may fail meanwhile, because the page may be loading.
func (b *tab) until(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, waitLimit)
	defer cancel()
	for {
		is, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
		if is {
			return
		}
		if ctx.Err() != nil {
			b.t.Fatalf("after %v not true: %s (%v); the page says:\n%s", waitLimit, expression, err, b.text())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// loads opens a page, and waits until it lists the jobs.
func (b *tab) loads(url string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url))
	b.until(`document.querySelectorAll("#jobs tbody tr").length === 5`)
}

// text returns the text of the page, for messages.
func (b *tab) text() string {
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.body.innerText"))
	if err != nil {
		return err.Error()
	}
	return text
}

// quiet fails the test if the browser has complained.
func (b *tab) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		b.t.Error("the browser says: ", c)
	}
}
