package replay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// Monitor passes what a real server does to the checker, as node i, until ctx is done. If the server restarts, it is another one.
// ready is called when the first connection watches.
func (c *Checker) Monitor(ctx context.Context, i int, addr string, ready func()) error {
	var then time.Time
	for first := true; ctx.Err() == nil; first = false {
		err := c.monitorOnce(ctx, i, addr, then, func() {
			if first {
				ready()
			}
		})
		if errors.Is(err, errText) {
			return err
		}
		then = time.Now()
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond): // the server restarts
		}
	}
	return nil
}

var errText = errors.New("unexpected text of MONITOR")

// monitorOnce watches on one connection. The server carries out the two commands one right after the other.
func (c *Checker) monitorOnce(ctx context.Context, i int, addr string, then time.Time, watching func()) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := fmt.Fprintf(conn, "HGETALL %s\r\nMONITOR\r\n", c.hash); err != nil {
		return err
	}
	in := bufio.NewReaderSize(conn, 1<<20)
	fields, err := readMap(in)
	if err != nil {
		return err
	}
	c.Became(i, then, fields)
	watching()
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		if line == "+OK\r\n" {
			continue
		}
		now, args, err := parseLine(line)
		if err != nil {
			return err
		}
		c.Command(i, now, args[0], args[1:]...)
	}
}

// readMap reads a list of names and values.
func readMap(in *bufio.Reader) (map[string]string, error) {
	count, err := readCount(in, '*')
	var texts []string
	for range count {
		size, err := readCount(in, '$')
		text := make([]byte, size+2)
		if _, more := io.ReadFull(in, text); err != nil || more != nil {
			return nil, errors.Join(err, more)
		}
		texts = append(texts, string(text[:size]))
	}
	fields := make(map[string]string)
	for k := 0; k+1 < len(texts); k += 2 {
		fields[texts[k]] = texts[k+1]
	}
	return fields, err
}

func readCount(in *bufio.Reader, kind byte) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("%q instead of a %c", line, kind)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}

// parseLine parses a line such as +1700000000.000001 [0 lua] "HSET" "{redlock}".
func parseLine(line string) (now time.Time, args []string, err error) {
	line = strings.TrimSuffix(strings.TrimPrefix(line, "+"), "\r\n")
	at, rest, _ := strings.Cut(line, " ")
	seconds, micros, _ := strings.Cut(at, ".")
	s, err1 := strconv.ParseInt(seconds, 10, 64)
	us, err2 := strconv.ParseInt(micros, 10, 64)
	_, rest, found := strings.Cut(rest, "] ")
	for rest != "" && found {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return now, nil, fmt.Errorf("%w: %q", errText, line)
		}
		arg, err := strconv.Unquote(quoted)
		if err != nil {
			return now, nil, fmt.Errorf("%w: %q", errText, line)
		}
		args = append(args, arg)
		rest = strings.TrimPrefix(rest[len(quoted):], " ")
	}
	if err1 != nil || err2 != nil || len(args) == 0 {
		return now, nil, fmt.Errorf("%w: %q", errText, line)
	}
	return time.Unix(s, us*1000), args, nil
}
