package dashboard_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// WCAG 2.2 requires these contrasts at level AA: 4.5 for text (1.4.3), 3 for meaningful shapes (1.4.11).
func TestStyle_ColoursStandOutInBothThemes(t *testing.T) {
	css, err := os.ReadFile("assets/style.css")
	if err != nil {
		t.Fatal(err)
	}
	themes := regexp.MustCompile(`(?s):root \{(.*?)\}`).FindAllSubmatch(css, -1)
	if len(themes) != 2 {
		t.Fatalf("%d themes, want a light and a dark one", len(themes))
	}
	for i, theme := range themes {
		colors := make(map[string]float64)
		for _, found := range regexp.MustCompile(`--([\w-]+): #(\w+)`).FindAllSubmatch(theme[1], -1) {
			colors[string(found[1])] = luminance(t, string(found[2]))
		}
		wants := func(color, ground string, least float64) {
			t.Helper()
			a, b := colors[color], colors[ground]
			if got := (max(a, b) + .05) / (min(a, b) + .05); got < least {
				t.Errorf("theme %d: --%s on --%s has a contrast of %.2f, want %.1f", i+1, color, ground, got, least)
			}
		}
		for _, text := range []string{"text", "quiet", "link", "good", "bad", "wait"} {
			wants(text, "ground", 4.5)
			wants(text, "card", 4.5)
		}
		for _, text := range []string{"text", "quiet", "link", "bad"} {
			wants(text, "bad-soft", 4.5)
		}
		for _, shape := range []string{"term", "term-odd", "good", "bad", "wait", "focus"} {
			wants(shape, "ground", 3)
		}
	}
}

// luminance returns the luminance of an sRGB color, given as 3 or 6 hexadecimal digits.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	n, err := strconv.ParseUint(hex, 16, 24)
	if err != nil || len(hex) != 6 {
		t.Fatalf("#%s is no color", hex)
	}
	linear := func(shift int) float64 {
		v := float64(n>>shift&0xff) / 255
		if v <= .04045 {
			return v / 12.92
		}
		return math.Pow((v+.055)/1.055, 2.4)
	}
	return .2126*linear(16) + .7152*linear(8) + .0722*linear(0)
}
