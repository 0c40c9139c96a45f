package fencehttp_test

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/adapters/fencehttp"
	"github.com/redlockfx/redlockfx/fenced"
	"github.com/redlockfx/redlockfx/scheduler"
)

// run is what a job with a name that needs escapes sends.
func run() fenced.Holder {
	return fenced.Run(scheduler.Run{Job: "räport; 1,2@x", Tick: time.UnixMilli(1700000000000).UTC(), Token: 1700000000000001})
}

func TestSet_AndGetAgree(t *testing.T) {
	long := run()
	long.Key = strings.Repeat("\u00e4", 125)
	plain := fenced.Run(scheduler.Run{Job: "report", Tick: time.UnixMilli(1795313814000).UTC(), Token: 1795313814812500})
	for want, text := range map[fenced.Holder]string{
		plain: "1795313814812500;tick=1795313814000000;key=report@1795313814000", // as in the documentation
		run(): "", long: "", {Token: 1}: "1", {Token: uint64(time.Now().UnixMicro())}: "",
	} {
		header := http.Header{}
		if err := fencehttp.Set(header, want); err != nil {
			t.Fatal(err)
		}
		if got := header.Get("Redlock-Fence"); text != "" && got != text {
			t.Errorf("got %s, want %s", got, text)
		}
		got, err := fencehttp.Get(header)
		want.Resource = "" // the service knows it
		if err != nil || got != want {
			t.Errorf("%s: got %+v, want %+v, %v", header, got, want, err)
		}
	}
}

func TestSet_RefusesWhatCannotBeAHolder(t *testing.T) {
	for problem, spoil := range map[string]func(*fenced.Holder){
		"token 0":               func(h *fenced.Holder) { h.Token = 0 },
		"is larger than":        func(h *fenced.Holder) { h.Token = math.MaxInt64 + 1 },
		"is not after 1970":     func(h *fenced.Holder) { h.Tick = time.Time{} },
		"has 251 bytes":         func(h *fenced.Holder) { h.Key = strings.Repeat("x", 251) },
		"invisible character":   func(h *fenced.Holder) { h.Key = "a\nb" },
		"invalid UTF-8 in keys": func(h *fenced.Holder) { h.Key = "a\xff" },
	} {
		h, header := run(), http.Header{}
		spoil(&h)
		err := fencehttp.Set(header, h)
		if err == nil || len(header) > 0 || strings.Contains(problem, " ") && !strings.HasPrefix(problem, "invalid") &&
			!strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v, %v", problem, err, header)
		}
	}
}

// bad are values of the header that no client of this package sends.
func bad() map[string]string {
	ahead := time.Now().Add(2 * time.Hour)
	micros := func(at time.Time) string {
		header := http.Header{}
		_ = fencehttp.Set(header, fenced.Holder{Token: uint64(at.UnixMicro())})
		return header.Get(fencehttp.Header)
	}
	return map[string]string{
		"empty": "", "zero": "0", "a sign": "+7", "negative": "-7", "a leading zero": "07", "hexadecimal": "0x7", "a space": "7 ",
		"a word": "seven", "a list": "7, 8", "2^63": "9223372036854775808", "2^64": "18446744073709551616",
		"a token far ahead": micros(ahead), "a tick far ahead": "7;tick=" + micros(ahead) + ";key=a", "no key": "7;tick=5",
		"an empty key": "7;tick=5;key=", "a tick of 0": "7;tick=0;key=a", "a negative tick": "7;tick=-1;key=a",
		"a tick with a zero": "7;tick=05;key=a", "another order": "7;key=a;tick=5", "more": "7;tick=5;key=a;x=1", "half an escape": "7;tick=5;key=%4",
		"a needless escape": "7;tick=5;key=%61", "a lower-case escape": "7;tick=5;key=%c3%a4", "bad UTF-8": "7;tick=5;key=%FF",
		"a control character": "7;tick=5;key=%0A", "a long key": "7;tick=5;key=" + strings.Repeat("x", 251), "very long": strings.Repeat("7", 2000),
	}
}

func TestGet_RefusesWhatSetDoesNotWrite(t *testing.T) {
	for what, value := range bad() {
		if h, err := fencehttp.Get(http.Header{fencehttp.Header: {value}}); err == nil {
			t.Errorf("%s: %.60q is taken for %+v", what, value, h)
		}
	}
	if _, err := fencehttp.Get(http.Header{fencehttp.Header: {"7", "7"}}); err == nil || !strings.Contains(err.Error(), "2 Redlock-Fence headers") {
		t.Errorf("two headers: %v", err)
	}
	if _, err := fencehttp.Get(http.Header{}); !errors.Is(err, fencehttp.ErrMissing) {
		t.Errorf("no header: %v", err)
	}
}

// Whatever is taken is written again in the same way, and is what Set accepts.
func FuzzGet(f *testing.F) {
	for _, value := range bad() {
		f.Add(value)
	}
	f.Add("1795313814812500")
	f.Add("1795313814812500;tick=1795313814000000;key=r%C3%A4port@1795313814000")
	f.Fuzz(func(t *testing.T, value string) {
		h, err := fencehttp.Get(http.Header{fencehttp.Header: {value}})
		if err != nil {
			return
		}
		again := http.Header{}
		if err := fencehttp.Set(again, h); err != nil || again.Get(fencehttp.Header) != value {
			t.Errorf("%q is taken for %+v, which is written as %q, %v", value, h, again.Get(fencehttp.Header), err)
		}
		if h.Token == 0 || h.Token > uint64(time.Now().Add(2*time.Hour).UnixMicro()) || len(h.Key) > 250 {
			t.Errorf("%q is taken for %+v", value, h)
		}
		if h.Key != "" && (h.Tick.UnixMicro() <= 0 || !strings.HasSuffix(value, ";key="+url.PathEscape(h.Key))) {
			t.Errorf("%q is taken for %+v", value, h)
		}
	})
}
