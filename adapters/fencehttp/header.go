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

// ErrMissing is returned by [Get] if there is no [Header].
var ErrMissing = errors.New("fencehttp: no " + Header + " header")

const (
	maxKey    = 250       // bytes, as in package fenced
	maxHeader = 1024      // bytes: enough for a key with each byte escaped, and the numbers
	maxAhead  = time.Hour // how far a token or tick may be ahead of the service's clock
)

// Set sets the header for a request of the holder, which [fenced.Run], [fenced.Term] and [fenced.Lease] return. The
// holder's Resource is not sent, because the service chooses the resource. The holder's token belongs to one term, so
// set the header for each request, not once for a client.
//
// A run has one key. If it sends two different requests to the same resource, [Tx] refuses the second with 422. So give
// each step its own key: h := fenced.Run(run); h.Key += "/alice". A repeated request must have the same method, path,
// query and body: if the body has the time of the attempt in it, it is a different request. The host does not count.
func Set(header http.Header, h fenced.Holder) error {
	if err := problem(h); err != nil {
		return fmt.Errorf("fencehttp: %w", err)
	}
	header.Set(Header, encode(h))
	return nil
}

// Get returns the holder that has sent a request, without a resource. The error is [ErrMissing] if there is no header.
// For a header that [Set] would not write, the error says what is wrong. Get is for services that compare tokens
// themselves.
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
		return h, fmt.Errorf("token %.20q is not a number up to %d", token, int64(math.MaxInt64))
	}
	if hasKey {
		tick, key, _ := strings.Cut(rest, ";key=")
		micros, err := strconv.ParseInt(tick, 10, 64)
		if err != nil {
			return h, fmt.Errorf("tick %.20q is not a number of microseconds", tick)
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

// tooFar returns an error for a token or tick that is too far ahead to come from a clock that is roughly right.
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
