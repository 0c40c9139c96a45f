package dashboard

import (
	"bytes"
	"net/http"
	"strconv"
	"time"
)

// stream is how long one lasts: a server that shuts down waits for it.
const stream = time.Minute

// minPause is between two events, whatever has changed.
const minPause = 100 * time.Millisecond

// retryAfter is in how many seconds a browser may ask for a stream again. Until then its page reads itself.
const retryAfter = 10

// events sends the page's parts whenever they were read again, as server-sent events. When the browser leaves, so does its
// stream: whoever asks does the reading.
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
		refuse(w, &refusal{http.StatusServiceUnavailable, strconv.Itoa(maxStreams) + " pages are open already, no more are kept up to date"})
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
	w.Header().Set("X-Accel-Buffering", "no") // nginx would keep it back
	end := time.NewTimer(stream)
	defer end.Stop()
	for {
		body, err := one.get(in, func() ([]byte, error) { return p.event(in, what) })
		if err != nil {
			return // the browser asks again, and the page itself says what is wrong
		}
		_ = send.SetWriteDeadline(time.Now().Add(waitLimit)) // not every writer can
		if _, err := w.Write(body); err != nil || send.Flush() != nil {
			return
		}
		select {
		case <-time.After(max(time.Until(in.until), minPause)): // there is something newer
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

// event is the page's parts as an event.
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

// eventOf is a text as the data of an event. Any line end of the three that the format has would begin a field otherwise.
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
