package browsertest

import (
	"bytes"
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

var pictures = flag.String("pictures", "", "`folder` to write the pictures of the documentation to")

// calm lets the service run undisturbed, for an eighth of the time if nobody will see the pictures.
func calm(d time.Duration) {
	if *pictures == "" {
		d /= 8
	}
	time.Sleep(d)
}

// anHour returns the data of the nodes after an hour of the service, and when it ended, in virtual time. The leader
// is lost once, and a majority of the nodes is unreachable for a while.
func anHour(t *testing.T) (data []*nodetest.Snapshot, end time.Time) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 22, 9, 20, 0, 0, time.UTC)))
		s := start(t, nodes(t), jobs(time.Minute)...)
		calm(17 * time.Minute)
		lost := s.leader()
		lost.Cut()
		time.Sleep(time.Minute)
		lost.Heal()
		calm(19 * time.Minute)
		s.nodes.Cut(0, 1, 2)
		time.Sleep(4 * time.Minute)
		s.nodes.Heal()
		calm(14*time.Minute + 40*time.Second)
		if err := s.leader().scheduler.Pause(t.Context(), "monthly statement"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		for i := range 5 {
			data = append(data, s.nodes.Snapshot(i))
		}
		end = time.Now()
	})
	return data, end
}

// Each run takes the pictures, but only -pictures saves them.
func TestPictures_OfBothThemesAndASmallScreen(t *testing.T) {
	t.Parallel() // it waits for the guards of the nodes
	data, end := anHour(t)
	nodes := nodes(t)
	off := time.Until(end)
	for i, d := range data {
		nodes.Offset(i, off)
		nodes.RestartFrom(i, d)
	}
	s := start(t, nodes, jobs(time.Minute)...).serve(anybody)
	s.leader()
	b := open(t)
	for _, p := range []struct {
		name, theme string
		wide        int64
		path        string
	}{
		{"dashboard-light", "light", 1200, ""},
		{"dashboard-dark", "dark", 1200, ""},
		{"dashboard-360", "light", 360, ""},
		{"dashboard-job", "light", 1200, "job?name=exchange+rates"},
	} {
		_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: p.theme}},
		})
		if err != nil {
			t.Fatal(err)
		}
		b.do(chromedp.EmulateViewport(p.wide, 800, chromedp.EmulateScale(1)),
			chromedp.Navigate(s.follower().url+p.path), chromedp.WaitVisible("h1"))
		b.until(`document.getElementById("live").textContent === "live"`)
		if p.path == "" {
			b.until(`document.querySelectorAll("#timeline rect.term").length > 2`)
		}
		picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
		if err != nil {
			t.Fatal(err)
		}
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
