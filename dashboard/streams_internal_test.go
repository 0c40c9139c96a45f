package dashboard

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestStreams_ThatShowTheSameRenderOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := streams{all: make(map[seen]*shared)}
		rendered := 0 // guarded by the shared event
		in := known{view: &view{}, until: time.Now().Add(every)}
		get := func(one *shared) string {
			event, err := one.get(in, func() ([]byte, error) {
				rendered++
				return fmt.Append(nil, rendered), nil
			})
			if err != nil {
				t.Error(err)
			}
			return string(event)
		}
		var all sync.WaitGroup
		var leave []func()
		for range 50 {
			one, left := s.enter(seen{query: query{Page: 1}})
			leave = append(leave, left)
			all.Go(func() {
				if event := get(one); event != "1" {
					t.Errorf("event %s", event)
				}
			})
		}
		all.Wait()
		one := s.all[seen{query: query{Page: 1}}]
		in.view = &view{}
		if event := get(one); event != "2" {
			t.Errorf("event %s after another read", event)
		}
		in.until = in.until.Add(time.Second)
		if event := get(one); event != "3" {
			t.Errorf("event %s after another read of the one job", event)
		}
		time.Sleep(2 * sameFor)
		if event := get(one); event != "4" {
			t.Errorf("event %s is as old as that", event)
		}
		other, left := s.enter(seen{query: query{Page: 1}, actions: true})
		if other == one {
			t.Error("those who may act see what those see who may not")
		}
		left()
		for _, left := range leave {
			left()
		}
		if len(s.all) > 0 || s.open > 0 {
			t.Errorf("%d events of %d streams are kept for nobody", len(s.all), s.open)
		}
	})
}

func TestEvent_HasAllLinesInItsData(t *testing.T) {
	got := string(eventOf([]byte("a\r\nb\rc\nd\n\n")))
	if want := "retry: 1000\ndata: a\ndata: b\ndata: c\ndata: d\n\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFirstLine_IsOneLineOfText(t *testing.T) {
	for text, want := range map[string]string{
		"a\nb": "a", "a\rb": "a", "\r\n a \r\nb": "a", "a\x1b[31m\x00b\tc": "a [31m b c", "a\u202Eb\u2066c\u2028d\u0085e": "a b c d e",
		"Zoë 👩‍🚒": "Zoë 👩‍🚒", "\xff\xfea": "a", "": "", "\u202E": " ",
	} {
		if got := firstLine(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
