package dashboard

import (
	"bytes"
	"fmt"
	"net/http"
	"time"
)

// stream is how long one lasts: a server that shuts down waits for it.
const stream = time.Minute

// minPause is between two events, whatever has changed.
const minPause = 100 * time.Millisecond

// events sends the page's parts whenever they were read anew, as server-sent events. Nothing of it goes on when the
// browser has left: the reading is done by those who ask.
func (p *page) events(w http.ResponseWriter, r *http.Request) {
	send := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would keep it back
	end := time.NewTimer(stream)
	defer end.Stop()
	for again := time.NewTimer(0); ; {
		select {
		case <-again.C:
		case <-end.C:
			return
		case <-p.open.Done():
			return
		case <-r.Context().Done():
			return
		}
		c := p.content(w, r)
		if c == nil {
			return
		}
		body, err := c.render("parts")
		if err != nil {
			return // the browser asks again, and the page itself says what is wrong
		}
		_ = send.SetWriteDeadline(time.Now().Add(patience)) // not every writer can
		if _, err := fmt.Fprintf(w, "retry: 1000\ndata: %s\n\n",
			bytes.ReplaceAll(bytes.TrimSpace(body), []byte("\n"), []byte("\ndata: "))); err != nil {
			return
		}
		if send.Flush() != nil {
			return
		}
		again.Reset(max(time.Until(c.until), minPause)) // when there is something newer
	}
}
