package jobstore

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Verb says what a request is for. The nodes store its text.
type Verb string

// The verbs.
const (
	ToPause    Verb = "p" // a pause of the job, or its end
	ToPauseAll Verb = "a" // a pause of all jobs, or its end; the nodes keep it as a ToPause of [AllJobs]
	ToTrigger  Verb = "t" // a run that is no tick's
	ToRerun    Verb = "r" // another run of a tick
	ToCancel   Verb = "c" // the end of the runs that began before
)

// Request is what somebody wants of a job.
type Request struct {
	Verb Verb
	Tick time.Time // to run again, in whole ms; zero for other verbs
	Setting
}

// Setting is a pause, or its end. A request with another verb uses only the mark, the time and the origin.
type Setting struct {
	Mark
	On bool
	Origin
	Made time.Time // by the nodes' clocks; zero: the version says it
}

// Mark identifies a request, and orders those with one verb for one job. It never changes.
type Mark struct {
	Version int64  // above all earlier ones, whatever the clocks say; usually when it was made, in µs by the nodes' clocks
	ID      string // six random hexadecimal digits
}

// Origin says who made a request, and why.
type Origin struct {
	By    string    // who made it, if given
	From  string    // the replica on which it was made
	Why   string    // the reason, if given
	Until time.Time // when a pause ends by itself, in whole ms; zero: it does not
	Since time.Time // when the pause began that a request ends, in whole ms; zero: nothing was paused
}

// At returns when the request was made.
func (s Setting) At() time.Time {
	if s.Made.IsZero() {
		return timeOf(s.Version)
	}
	return s.Made
}

// Present returns the setting as made now if it is from the future: the nodes' clocks were set back since it was made.
func (s Setting) Present(now time.Time) Setting {
	if s.At().After(now.Add(Ahead)) {
		s.Made = now
	}
	if s.Since.After(now.Add(Ahead)) {
		s.Since = now.Truncate(time.Millisecond)
	}
	return s
}

// farthest is how far a version may be ahead of the nodes' clocks. Versions increase by one at a time while the clocks are behind, so
// they reach it only if somebody else writes to a node. Otherwise such a node could use up all versions.
const farthest = 10 * 365 * 24 * time.Hour

// isFar reports whether no clock and no replica can have given the mark.
func (m Mark) isFar(now time.Time) bool { return timeOf(m.Version).After(now.Add(farthest)) }

// IsNewer reports whether m is newer than another mark.
func (m Mark) IsNewer(than Mark) bool {
	return m.Version > than.Version || m.Version == than.Version && m.ID > than.ID
}

// Covers reports whether a request is applied if the newest applied one is m.
func (m Mark) Covers(request Mark) bool { return !request.IsNewer(m) }

// Holds reports whether a pause has begun and not ended.
func (s Setting) Holds(now time.Time) bool {
	return s.On && (s.Until.IsZero() || now.Before(s.Until))
}

// Who returns who made the request, or on which replica somebody did.
func (o Origin) Who() string {
	if o.By == "" {
		return fmt.Sprintf("somebody on %q", o.From)
	}
	return fmt.Sprintf("%q on %q", o.By, o.From)
}

// Has reports whether the state has a request: it is applied.
func (s *State) Has(r Request) bool { return s.applied(r).Covers(r.Mark) }

// applied returns the newest applied request with a request's verb and tick.
func (s *State) applied(r Request) Mark {
	switch r.Verb {
	case ToPause:
		return s.Pause.Mark
	case ToPauseAll:
		return s.All.Mark
	case ToTrigger:
		return s.Manual
	case ToCancel:
		return s.Canceled
	}
	for _, other := range s.Reruns {
		if other.Tick.Equal(r.Tick) {
			return other.Mark
		}
	}
	return Mark{}
}

// field returns the field of the nodes' hash of requests in which a request for a job is.
func (r Request) field(job string) string { return r.verb() + ":" + job }

// verb returns the verb and the tick as a text, such as p, or r1700000000000/.
func (r Request) verb() string {
	if r.Verb == ToRerun {
		return string(ToRerun) + millis(r.Tick) + "/"
	}
	return string(r.Verb)
}

// cutVerb reads a text that begins with a verb, and returns the rest of it.
func cutVerb(text string) (r Request, rest string, err error) {
	r.Verb, rest = Verb(text[:min(1, len(text))]), text[min(1, len(text)):]
	switch r.Verb {
	case ToPause, ToTrigger, ToCancel:
		return r, rest, nil
	case ToRerun:
		tick, rest, ok := strings.Cut(rest, "/")
		ms, err := strconv.ParseInt(tick, 10, 64)
		if ok && err == nil && ms > 0 && ms <= maxNumber/1000 {
			r.Tick = time.UnixMilli(ms).UTC()
			return r, rest, nil
		}
	}
	return r, "", fmt.Errorf("the verb of a request cannot be read: %.80q", text)
}

// decodeRequest decodes a verb with its setting.
func decodeRequest(text string) (Request, error) {
	r, setting, err := cutVerb(text)
	if err != nil {
		return r, err
	}
	return r, decode(setting, r.Setting.code)
}
