package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The whole program, in real time, until a page shows a leader and a run.
func TestDashboard_ShowsALeaderAndItsRuns(t *testing.T) {
	defer func(before time.Duration) { ttl = before }(ttl)
	ttl = 2 * time.Second
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, listener, time.Minute) }()
	page := ""
	for end := time.Now().Add(time.Minute); !strings.Contains(page, "leads") || !strings.Contains(page, "</span> ok"); {
		if time.Now().After(end) {
			t.Fatalf("after a minute there is no leader, or no run:\n%s", page)
		}
		answer, err := http.Get("http://" + listener.Addr().String() + "/")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil {
			t.Error(err)
		}
		page = string(body)
		time.Sleep(100 * time.Millisecond)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestDashboard_RefusesFailoversThatOverlap(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), listener, time.Second); err == nil || !strings.Contains(err.Error(), "15s") {
		t.Errorf("got %v", err)
	}
}
