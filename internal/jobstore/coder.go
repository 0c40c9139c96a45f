package jobstore

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// coder writes the values of a word to a text, or reads them from one. So each type has one list of its values, for both directions.
// Values are separated by commas and escaped as in the query of a URL, but only as far as this format needs it. Zero values are empty,
// and omitted at the end of a word. People can read the text with redis-cli, and it is half as long as JSON.
type coder struct {
	reads bool
	left  string // to read
	err   error  // the first one of reading

	out    []byte // written
	key    string // of the present word
	begins bool   // the next value begins the word
	commas int    // before the next value
}

// encode returns the text of values.
func encode(values func(*coder)) string {
	c := coder{out: make([]byte, 0, 256)}
	values(&c)
	return string(c.out)
}

// decode reads values from a text. Missing values are zero.
func decode(text string, values func(*coder)) error {
	c := coder{reads: true, left: text}
	values(&c)
	return c.err
}

// begin begins a word, unless it turns out to have no values.
func (c *coder) begin(key string) { c.key, c.begins, c.commas = key, true, 0 }

func (c *coder) put(value string) {
	if value != "" {
		if c.begins {
			c.out = append(append(append(c.out, ' '), c.key...), '=')
			c.begins = false
		}
		for ; c.commas > 0; c.commas-- {
			c.out = append(c.out, ',')
		}
		c.out = append(c.out, value...)
	}
	c.commas++
}

func (c *coder) putNumber(n int64) {
	var digits [20]byte // on the stack, and so is the text: put does not keep it
	c.put(string(strconv.AppendInt(digits[:0], n, 10)))
}

func (c *coder) next() string {
	var value string
	value, c.left, _ = strings.Cut(c.left, ",")
	return value
}

func (c *coder) fail(err error) { c.err = cmp.Or(c.err, err) }

// escape escapes the separators of words and values. Letters of any alphabet keep their size.
var escape = strings.NewReplacer("%", "%25", "+", "%2B", " ", "+", ",", "%2C").Replace

func (c *coder) text(t *string) {
	if !c.reads {
		c.put(escape(*t))
		return
	}
	var err error
	*t, err = url.QueryUnescape(c.next())
	c.fail(err)
}

const maxErr = 1024 // bytes of an error that are kept

// reason is a text of which at most maxErr bytes are kept, in valid UTF-8. A question mark replaces invalid bytes, and a character
// that is cut in two.
func (c *coder) reason(t *string) {
	if !c.reads {
		kept := strings.ToValidUTF8((*t)[:min(len(*t), maxErr)], "?")
		t = &kept
	}
	c.text(t)
}

func (c *coder) flag(on *bool) {
	if c.reads {
		*on = c.next() == "1"
		return
	}
	c.put(flag(*on))
}

// maxNumber is larger than any real time, span or token. Times made of such numbers do not overflow.
const maxNumber = 1 << 53

func (c *coder) parse(text string) int64 {
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && (n > maxNumber || n < -maxNumber) {
		err = fmt.Errorf("%d is out of range", n)
	}
	c.fail(err)
	return n
}

func number[N int | int64 | uint64](c *coder, n *N) {
	switch {
	case c.reads:
		parsed := c.parse(c.next())
		if *n = N(parsed); parsed < 0 && *n > 0 {
			c.fail(fmt.Errorf("%d is negative", parsed))
		}
	case *n == 0:
		c.put("")
	default:
		c.putNumber(int64(*n))
	}
}

func (c *coder) micros(t *time.Time) { c.time(t, 1) }
func (c *coder) millis(t *time.Time) { c.time(t, 1000) }

// time is a time in whole units of some µs.
func (c *coder) time(t *time.Time, unit int64) {
	var n int64
	if !c.reads && !t.IsZero() {
		n = t.UnixMicro() / unit
	}
	if number(c, &n); c.reads {
		*t = c.valid(timeOf(n * unit))
	}
}

// after is a time, written as the time since another one. It is empty if it is zero.
func (c *coder) after(t *time.Time, from time.Time) {
	switch {
	case !c.reads && t.IsZero():
		c.put("")
	case !c.reads:
		c.putNumber(t.Sub(from).Microseconds())
	default:
		if text := c.next(); text != "" {
			*t = c.valid(from.Add(time.Duration(c.parse(text)) * time.Microsecond))
		}
	}
}

// valid refuses a time that cannot be encoded as JSON.
func (c *coder) valid(t time.Time) time.Time {
	if year := t.Year(); year < 0 || year > 9999 {
		c.fail(fmt.Errorf("the year %d is out of range", year))
	}
	return t
}

func (c *coder) span(d *time.Duration) {
	us := d.Microseconds()
	if number(c, &us); c.reads {
		*d = time.Duration(us) * time.Microsecond
	}
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return ""
}

func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

func timeOf(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
