package fencehttp

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/fenced"
	"github.com/redlockfx/redlockfx/internal/name"
)

// Header is the name of the header that has the token.
const Header = "Redlock-Fence"

// ErrMissing is returned by [Get] if there is no such header.
var ErrMissing = errors.New("fencehttp: no " + Header + " header")

const (
	maxKey    = 250       // bytes, as in package fenced
	maxHeader = 1024      // bytes: a key of which each is escaped, and the numbers
	maxAhead  = time.Hour // of a token or tick before the service's clock
)

// Set sets the header for a request of the holder, which [fenced.Run], [fenced.Term] and [fenced.Lease] return. The service
// decides about the resource: that of the holder is not sent. The holder's token belongs to one term: set the header for each
// request, and not once for a client.
//
// A run has one key. Of two different requests of one run to the same resource, the service refuses the second with 422. Give each
// step a key of its own: h := fenced.Run(run); h.Key += "/alice". A repetition must have the same method, path, query and body: a
// body with the time of the attempt in it is another request. The host does not count.
func Set(header http.Header, h fenced.Holder) error {
	if err := problem(h); err != nil {
		return fmt.Errorf("fencehttp: %w", err)
	}
	header.Set(Header, encode(h))
	return nil
}

// Get returns the holder that has sent a request, without a resource. The error is [ErrMissing] if there is no header, and says
// what is wrong with one that is not as [Set] writes it. Get is for services that compare by themselves.
func Get(header http.Header) (fenced.Holder, error) {
	values := header.Values(Header)
	switch len(values) {
	case 0:
		return fenced.Holder{}, ErrMissing
	case 1:
	default:
		return fenced.Holder{}, fmt.Errorf("fencehttp: %d %s headers, want one", len(values), Header)
	}
	h, err := decode(values[0])
	if err != nil {
		return fenced.Holder{}, fmt.Errorf("fencehttp: %s: %w", Header, err)
	}
	return h, nil
}

// problem returns an error unless the token, key and tick can be sent.
func problem(h fenced.Holder) error {
	switch {
	case h.Token == 0:
		return errors.New("token 0: it belongs to no lease")
	case h.Token > math.MaxInt64:
		return fmt.Errorf("token %d is larger than %d", h.Token, int64(math.MaxInt64))
	case h.Key == "":
		return nil
	case h.Tick.UnixMicro() <= 0:
		return fmt.Errorf("the tick %v of key %.40q is not after 1970", h.Tick, h.Key)
	}
	return name.CheckLen("key", h.Key, maxKey)
}

func encode(h fenced.Holder) string {
	token := strconv.FormatUint(h.Token, 10)
	if h.Key == "" {
		return token
	}
	return token + ";tick=" + strconv.FormatInt(h.Tick.UnixMicro(), 10) + ";key=" + url.PathEscape(h.Key)
}

func decode(value string) (fenced.Holder, error) {
	if len(value) > maxHeader {
		return fenced.Holder{}, fmt.Errorf("%d bytes, it may have %d", len(value), maxHeader)
	}
	var h fenced.Holder
	token, rest, hasKey := strings.Cut(value, ";tick=")
	var err error
	if h.Token, err = strconv.ParseUint(token, 10, 63); err != nil {
		return h, fmt.Errorf("token %.20q is no number up to %d", token, int64(math.MaxInt64))
	}
	if hasKey {
		tick, key, _ := strings.Cut(rest, ";key=")
		micros, err := strconv.ParseInt(tick, 10, 64)
		if err != nil {
			return h, fmt.Errorf("tick %.20q is no number of microseconds", tick)
		}
		h.Tick = time.UnixMicro(micros).UTC()
		if h.Key, err = url.PathUnescape(key); err != nil || h.Key == "" {
			return h, fmt.Errorf("key %.40q is empty, or not percent-encoded", key)
		}
	}
	if err := problem(h); err != nil {
		return h, err
	}
	if encode(h) != value {
		return h, fmt.Errorf("%.40q is not the only spelling of its value", value)
	}
	return h, tooFar(h, time.Now())
}

// tooFar refuses what no clock that is nearly right can have made.
func tooFar(h fenced.Holder, now time.Time) error {
	last := now.Add(maxAhead)
	if h.Token > uint64(last.UnixMicro()) {
		return fmt.Errorf("token %d is more than %v ahead of this service's clock", h.Token, maxAhead)
	}
	if h.Key != "" && h.Tick.After(last) {
		return fmt.Errorf("tick %v is more than %v ahead of this service's clock", h.Tick, maxAhead)
	}
	return nil
}
