// S3 shows how an object in S3 refuses a deposed leader: with conditional writes, and the fencing token in the object. The bucket
// is in memory and has the conditions of S3.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
)

func main() {
	if err := story(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// story makes a leader write after its successor.
func story(ctx context.Context, out io.Writer) error {
	store := &bucket{}
	server := httptest.NewServer(store)
	defer server.Close()
	object := server.URL + "/reports/latest"

	if err := put(ctx, server.Client(), object, 41, []byte("by the first leader")); err != nil {
		return err
	}
	// The first leader reads, and is paused before it writes. Meanwhile the second one writes.
	store.between = func() {
		if err := put(ctx, server.Client(), object, 42, []byte("by the second leader")); err != nil {
			log.Print(err)
		}
	}
	err := put(ctx, server.Client(), object, 41, []byte("by the first leader, late"))
	if !errors.Is(err, errFenced) {
		return fmt.Errorf("the late write was not refused: %w", err)
	}
	_, err = fmt.Fprintf(out, "refused: %v\nthe object is: %q\n", err, store.objects["/reports/latest"])
	return err
}
