package checkin

import (
	"net/http"
	"net/url"
	"strings"
)

// Service is the form of the requests.
type Service int

const (
	// Healthchecks is healthchecks.io, also self-hosted. The URL is a check's ping URL.
	// See https://healthchecks.io/docs/http_api/.
	Healthchecks Service = iota + 1
	// Sentry is Sentry Crons. The URL is SENTRY_INGEST/api/0/cron/MONITOR/PUBLIC_KEY/. Sentry takes no text.
	// See https://docs.sentry.io/product/crons/getting-started/http.
	Sentry
	// Cronitor is a Cronitor job. The URL is https://cronitor.link/p/API_KEY/MONITOR.
	// See https://cronitor.io/docs/telemetry-api.
	Cronitor
)

type kind int

const (
	started kind = iota
	succeeded
	failed
	noted
)

// words of each service for each kind. The service has no word for a missing one, and is not told.
var words = map[Service]map[kind]string{
	Healthchecks: {started: "/start", succeeded: "", failed: "/fail", noted: "/log"},
	Sentry:       {started: "in_progress", succeeded: "ok", failed: "error"},
	Cronitor:     {started: "run", succeeded: "complete", failed: "fail"},
}

// request returns the request for an event.
func (s Service) request(base string, e event) (*http.Request, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errURL
	}
	word, query, method, body := words[s][e.kind], u.Query(), http.MethodGet, ""
	switch s {
	case Healthchecks:
		u.Path = strings.TrimSuffix(u.Path, "/") + word
		u.RawPath = ""
		query.Set("rid", e.id)
		method, body = http.MethodPost, e.text
	case Sentry:
		query.Set("check_in_id", e.id)
		query.Set("status", word)
	case Cronitor:
		query.Set("state", word)
		query.Set("series", e.id)
		if e.text != "" {
			query.Set("message", e.text)
		}
	}
	u.RawQuery = query.Encode()
	r, err := http.NewRequest(method, u.String(), strings.NewReader(body))
	if err != nil {
		return nil, errURL
	}
	return r, nil
}
