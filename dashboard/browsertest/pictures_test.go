package browsertest

import (
	"bytes"
	"context"
	"flag"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/redlockfx/redlockfx/dashboard"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

var pictures = flag.String("pictures", "", "`folder` to write the pictures of the documentation to")

// calm lets the service run undisturbed, for an eighth of the time if nobody will see the pictures.
func calm(d time.Duration) {
	if *pictures == "" {
		d /= 8
	}
	time.Sleep(d)
}

// anHour returns what the page answers after an hour of the service, in virtual time. The leader is lost once, and the
// nodes are unreachable for a while.
func anHour(t *testing.T, paths ...string) (answers map[string]*httptest.ResponseRecorder) {
	answers = make(map[string]*httptest.ResponseRecorder)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 22, 9, 20, 0, 0, time.UTC)))
		s := start(t, jobs(time.Minute)...)
		calm(17 * time.Minute)
		lost := s.leader()
		lost.Cut()
		time.Sleep(time.Minute)
		lost.Heal()
		calm(19 * time.Minute)
		s.nodes.Cut()
		time.Sleep(4 * time.Minute)
		s.nodes.Heal()
		calm(14*time.Minute + 40*time.Second)
		want.NoError(t, s.leader().scheduler.Pause(t.Context(), "monthly statement"))
		time.Sleep(time.Second)
		r := s.follower()
		page := dashboard.Handler(r.elector, r.scheduler, dashboard.AllowActions(anybody))
		for _, path := range paths {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second) // ends a stream
			answers[path] = httptest.NewRecorder()
			page.ServeHTTP(answers[path], httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil))
			cancel()
		}
	})
	return answers
}

// Each run takes the pictures, but only -pictures saves them.
func TestPictures_OfBothThemesAndASmallScreen(t *testing.T) {
	const job = "?name=exchange+rates"
	answers := anHour(t, "/", "/events", "/job"+job, "/events"+job, "/style.css", "/live.js")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		if r.URL.Query().Has("name") { // which links may escape in another way
			path += job
		}
		answer := answers[path]
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		_, _ = w.Write(answer.Body.Bytes())
		if strings.HasPrefix(r.URL.Path, "/events") {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	b := open(t)
	for _, p := range []struct {
		name, theme string
		wide        int64
		path        string
	}{
		{"dashboard-light", "light", 1200, "/"},
		{"dashboard-dark", "dark", 1200, "/"},
		{"dashboard-360", "light", 360, "/"},
		{"dashboard-job", "light", 1200, "/job" + job},
	} {
		_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: p.theme}},
		})
		want.NoError(t, err)
		b.do(chromedp.EmulateViewport(p.wide, 800, chromedp.EmulateScale(1)), chromedp.Navigate(server.URL+p.path))
		b.until(`document.getElementById("live").textContent === "live"`)
		picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
		want.NoError(t, err)
		image, err := png.Decode(bytes.NewReader(picture))
		if err != nil || image.Bounds().Dx() != int(p.wide) {
			t.Errorf("%s: %v, %v", p.name, image.Bounds(), err)
		}
		if *pictures == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(*pictures, p.name+".png"), picture, 0o644); err != nil {
			t.Error(err)
		}
	}
	b.quiet()
}
