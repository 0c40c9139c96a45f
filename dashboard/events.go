package dashboard

import (
	"bytes"
	"net/http"
	"strconv"
	"time"
)

// stream is how long a stream lasts. A server that shuts down waits for it.
const stream = time.Minute

// minPause is the shortest time between two events.
const minPause = 100 * time.Millisecond

// retryAfter is the number of seconds after which a browser may ask for a stream again. Until then it reloads the
// page's content.
const retryAfter = 10

// events sends the page's parts as server-sent events whenever they were read again. The streams trigger the reads, so
// nothing is read when all browsers have left.
func (p *page) events(w http.ResponseWriter, r *http.Request) {
	q, err := queryOf(r)
	if err != nil {
		refuse(w, err)
		return
	}
	what := seen{q, p.mayAct(r)}
	one, leave := p.streams.enter(what)
	if one == nil {
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
		refuse(w, &refusal{http.StatusServiceUnavailable,
			strconv.Itoa(maxStreams) + " pages are open, which is the limit for live updates"})
		return
	}
	defer leave()
	in, err := p.read(r.Context(), q)
	if err != nil {
		refuse(w, err)
		return
	}
	send := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would buffer the events
	end := time.NewTimer(stream)
	defer end.Stop()
	for {
		body, err := one.get(in, func() ([]byte, error) { return p.event(in, what) })
		if err != nil {
			return // the browser reloads the page, which says what is wrong
		}
		_ = send.SetWriteDeadline(time.Now().Add(waitLimit)) // an error means that the writer has no deadlines
		if _, err := w.Write(body); err != nil || send.Flush() != nil {
			return
		}
		select {
		case <-time.After(max(time.Until(in.until), minPause)): // newer data can be read
		case <-end.C:
			return
		case <-p.open.Done():
			return
		case <-r.Context().Done():
			return
		}
		if in, err = p.read(r.Context(), q); err != nil {
			return
		}
	}
}

// event renders the page's parts as an event.
func (p *page) event(in known, what seen) ([]byte, error) {
	c, err := p.content(in, what)
	if err != nil {
		return nil, err
	}
	body, err := c.render("parts")
	if err != nil {
		return nil, err
	}
	return eventOf(body), nil
}

// eventOf returns an event with the text as its data. It replaces each of the format's three line endings, because the
// text after one would be read as a field.
func eventOf(text []byte) []byte {
	event := make([]byte, 0, len(text)+len(text)/8+64)
	event = append(event, "retry: 1000\ndata: "...)
	text = bytes.ReplaceAll(bytes.TrimSpace(text), []byte("\r\n"), []byte("\n"))
	for _, b := range text {
		if b == '\n' || b == '\r' {
			event = append(event, "\ndata: "...)
			continue
		}
		event = append(event, b)
	}
	return append(event, "\n\n"...)
}
