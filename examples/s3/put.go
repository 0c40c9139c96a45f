package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// errFenced is returned to a writer with a smaller token than the object has.
var errFenced = errors.New("a later holder has written the object")

const maxAttempts = 10 // each fails only if somebody else has written

// put writes a value with a token, unless the object has a larger one. The client's transport signs the requests.
func put(ctx context.Context, client *http.Client, object string, token uint64, value []byte) error {
	for range maxAttempts {
		etag, seen, err := look(ctx, client, object)
		if err != nil {
			return err
		}
		if seen > token {
			return fmt.Errorf("%w: token %d is smaller than %d", errFenced, token, seen)
		}
		body := append(fmt.Appendf(nil, "%d\n", token), value...) // in the body: the ETag is its hash, without metadata
		request, err := http.NewRequestWithContext(ctx, http.MethodPut, object, bytes.NewReader(body))
		if err != nil {
			return err
		}
		if etag == "" {
			request.Header.Set("If-None-Match", "*")
		} else {
			request.Header.Set("If-Match", etag)
		}
		response, err := client.Do(request)
		if err != nil {
			return err // it may be written: another put writes the same again
		}
		switch _ = response.Body.Close(); response.StatusCode {
		case http.StatusOK:
			return nil
		case http.StatusPreconditionFailed, http.StatusConflict, http.StatusNotFound: // somebody has written since, or is writing now
		default:
			return fmt.Errorf("put %s: %s", object, response.Status)
		}
	}
	return fmt.Errorf("put %s: gave up after %d attempts, somebody else wrote each time", object, maxAttempts)
}

// look returns the ETag of the object and the token in its first line; "" and 0 if there is no object.
func look(ctx context.Context, client *http.Client, object string) (etag string, token uint64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, object, nil)
	if err != nil {
		return "", 0, err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = response.Body.Close() }() // the rest of the object is not needed
	switch response.StatusCode {
	case http.StatusNotFound:
		return "", 0, nil
	case http.StatusOK:
	default:
		return "", 0, fmt.Errorf("get %s: %s", object, response.Status)
	}
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	if err != nil {
		return "", 0, fmt.Errorf("get %s: it has no line with a token: %w", object, err)
	}
	token, err = strconv.ParseUint(strings.TrimSuffix(line, "\n"), 10, 64)
	if err != nil {
		return "", 0, fmt.Errorf("get %s: its first line is no token: %w", object, err)
	}
	if etag = response.Header.Get("ETag"); etag == "" {
		return "", 0, fmt.Errorf("get %s: the answer has no ETag", object)
	}
	return etag, token, nil
}
