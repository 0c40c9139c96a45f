package checkin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/adapters/checkin"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
	"github.com/redlockfx/redlockfx/scheduler"
)

func TestMain(m *testing.M) { testmain.Run(m) }

var run = scheduler.Run{Job: "invoices", Tick: time.Unix(1700000000, 0)}

// id is the UUID of run.
const id = "ID"

func record(state scheduler.State, text string) scheduler.Record {
	return scheduler.Record{Run: run, State: state, Err: text}
}

func TestHooks_SendEachServiceItsForm(t *testing.T) {
	for service, wanted := range map[checkin.Service][]string{
		checkin.Healthchecks: {"POST /s3cret/start?rid=ID ", "POST /s3cret?rid=ID ", "POST /s3cret/fail?rid=ID failed: no & paper",
			"POST /s3cret/fail?rid=ID lost: gone", "POST /s3cret/log?rid=ID skipped: ", "POST /s3cret/log?rid=ID interrupted: gone"},
		checkin.Sentry: {"GET /s3cret?check_in_id=ID&status=in_progress ", "GET /s3cret?check_in_id=ID&status=ok ",
			"GET /s3cret?check_in_id=ID&status=error ", "GET /s3cret?check_in_id=ID&status=error "},
		checkin.Cronitor: {"GET /s3cret?series=ID&state=run ", "GET /s3cret?series=ID&state=complete ",
			"GET /s3cret?message=failed%3A+no+%26+paper&series=ID&state=fail ", "GET /s3cret?message=lost%3A+gone&series=ID&state=fail "},
	} {
		var got []string
		var rid string
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			q := r.URL.Query()
			if rid == "" {
				rid = q.Get("rid") + q.Get("check_in_id") + q.Get("series")
			}
			got = append(got, strings.Replace(fmt.Sprintf("%s %s %s", r.Method, r.URL, body), rid, id, 1))
		}))
		c, err := checkin.New(checkin.Config{Service: service, URL: func(string) string { return server.URL + "/s3cret" }})
		if err != nil {
			t.Fatal(err)
		}
		h := c.Hooks()
		h.Started(run)
		h.Finished(record(scheduler.StateOK, ""))
		h.Finished(record(scheduler.StateFailed, "no & paper"))
		h.Finished(record(scheduler.StateLost, "gone")) // a run that was cut off
		h.Finished(record(scheduler.StateSkipped, ""))
		h.Finished(record(scheduler.StateInterrupted, "gone"))
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		server.Close()
		if len(rid) != 36 || fmt.Sprint(got) != fmt.Sprint(wanted) {
			t.Errorf("service %d, id %q: got\n%s\nwanted\n%s", service, rid, strings.Join(got, "\n"), strings.Join(wanted, "\n"))
		}
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(status int) transport {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Body: http.NoBody, Header: http.Header{"Location": {"http://x/s3cret\x7f"}}}, nil
	}
}

func hang(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func refuse(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }

func TestSend_RetriesAndNamesNoURL(t *testing.T) {
	for name, tt := range map[string]struct {
		url      string
		send     transport
		attempts int
		log      string
	}{
		"hangs":     {"http://x/s3cret", hang, 3, "attempt 3 of 3: context deadline exceeded"},
		"refuses":   {"http://x/s3cret", refuse, 3, "attempt 3 of 3: connection refused"},
		"busy":      {"http://x/s3cret", answer(429), 3, "attempt 3 of 3: the service answered 429"},
		"broken":    {"http://x/s3cret", answer(500), 3, "attempt 3 of 3: the service answered 500"},
		"unknown":   {"http://x/s3cret", answer(404), 1, "attempt 1 of 3: the service answered 404"},
		"redirects": {"http://x/s3cret", answer(302), 1, "attempt 1 of 3: the service answered 302"},
		"no URL":    {"http://x:s3cret", answer(200), 0, "attempt 1 of 3: its URL is not an http or https URL"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				attempts := 0
				c, _ := checkin.New(checkin.Config{
					Service: checkin.Healthchecks, URL: func(string) string { return tt.url }, Log: slog.New(slog.NewTextHandler(&log, nil)),
					Transport: transport(func(r *http.Request) (*http.Response, error) { attempts++; return tt.send(r) }),
				})
				c.Hooks().Missed("invoices", 2, "nobody led")
				err := c.Close(t.Context())
				if err == nil || attempts != tt.attempts || !strings.Contains(log.String(), tt.log) || strings.Contains(log.String(), "s3cret") {
					t.Errorf("%d attempts, Close: %v, log: %s", attempts, err, &log)
				}
			})
		})
	}
}

func TestQueue_DropsStartsFirstAndNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		ends, open := 0, make(chan struct{})
		c, _ := checkin.New(checkin.Config{
			Service: checkin.Sentry, URL: func(string) string { return "http://x" }, Log: slog.New(slog.NewTextHandler(&log, nil)),
			Transport: transport(func(r *http.Request) (*http.Response, error) {
				<-open
				ends += strings.Count(r.URL.RawQuery, "status=ok")
				return answer(200)(r)
			}),
		})
		h := c.Hooks()
		h.Started(run)
		synctest.Wait() // it is being sent
		h.Finished(record(scheduler.StateOK, ""))
		for range 300 {
			h.Started(run)
		}
		close(open)
		err := c.Close(t.Context())
		if err == nil || err.Error() != "checkin: 45 check-ins were not sent" || ends != 1 ||
			strings.Count(log.String(), "dropped=45 limit=256") != 1 {
			t.Errorf("%d ends sent, Close: %v, log: %s", ends, err, &log)
		}
		h.Started(run)
		if !strings.Contains(log.String(), "came after Close") {
			t.Error("a check-in after Close is silent")
		}
	})
}

func TestClose_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := checkin.New(checkin.Config{
			Service: checkin.Sentry, URL: func(string) string { return "http://x" }, Transport: transport(hang), Log: slog.New(slog.DiscardHandler),
		})
		for range 5 {
			c.Hooks().Started(run)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		if err := c.Close(ctx); err == nil || err.Error() != "checkin: 5 check-ins were not sent" || time.Since(begin) != time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
	})
}

func TestNew_NamesAllProblems(t *testing.T) {
	_, err := checkin.New(checkin.Config{})
	if err == nil || !strings.Contains(err.Error(), "Service") || !strings.Contains(err.Error(), "URL is nil") {
		t.Error(err)
	}
}
