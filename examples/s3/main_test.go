package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

func TestStory(t *testing.T) {
	var out bytes.Buffer
	if err := story(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	want := "refused: a later holder has written the object: token 41 is smaller than 42\n" +
		"the object is: \"42\\nby the second leader\"\n"
	if out.String() != want {
		t.Errorf("got %s", out.String())
	}
}

// start returns a bucket and the address of an object in it.
func start(t *testing.T) (*bucket, *http.Client, string) {
	t.Helper()
	b := &bucket{}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	return b, server.Client(), server.URL + "/latest"
}

func TestPut_KeepsTheLargestToken(t *testing.T) {
	b, client, object := start(t)
	for i, step := range []struct {
		token   uint64
		refused bool
		want    string
	}{
		{7, false, "7\nvalue 0"}, {7, false, "7\nvalue 1"}, {6, true, "7\nvalue 1"}, {10, false, "10\nvalue 3"}, {9, true, "10\nvalue 3"},
	} {
		err := put(t.Context(), client, object, step.token, fmt.Appendf(nil, "value %d", i))
		if errors.Is(err, errFenced) != step.refused || err != nil && !step.refused || string(b.objects["/latest"]) != step.want {
			t.Errorf("token %d: %v, the object is %q", step.token, err, b.objects["/latest"])
		}
	}
}

// Another writer comes between the look and the write.
func TestPut_LooksAgainIfSomebodyHasWritten(t *testing.T) {
	for other, want := range map[uint64]string{6: "7\nmine", 7: "7\nmine", 8: "8\ntheirs"} {
		for _, exists := range []bool{false, true} {
			b, client, object := start(t)
			if exists {
				if err := put(t.Context(), client, object, 5, []byte("old")); err != nil {
					t.Fatal(err)
				}
			}
			b.between = func() {
				if err := put(t.Context(), client, object, other, []byte("theirs")); err != nil {
					t.Error(err)
				}
			}
			err := put(t.Context(), client, object, 7, []byte("mine"))
			if errors.Is(err, errFenced) != (other > 7) || string(b.objects["/latest"]) != want {
				t.Errorf("the other one has token %d: %v, the object is %q", other, err, b.objects["/latest"])
			}
		}
	}
}

// The value is the same, so only the token tells the two writes apart. If the token were in the metadata, the ETag would not
// change, and the deposed leader's condition would hold.
func TestPut_TellsEqualValuesApart(t *testing.T) {
	b, client, object := start(t)
	if err := put(t.Context(), client, object, 5, []byte("same")); err != nil {
		t.Fatal(err)
	}
	b.between = func() {
		if err := put(t.Context(), client, object, 8, []byte("same")); err != nil {
			t.Error(err)
		}
	}
	if err := put(t.Context(), client, object, 7, []byte("same")); !errors.Is(err, errFenced) {
		t.Errorf("the later holder is overwritten: %v, the object is %q", err, b.objects["/latest"])
	}
}

func TestPut_RepeatsAfterALostAnswer(t *testing.T) {
	b, client, object := start(t)
	b.loses = 1
	if err := put(t.Context(), client, object, 7, []byte("mine")); err == nil {
		t.Fatal("the answer was not lost")
	}
	if err := put(t.Context(), client, object, 7, []byte("mine")); err != nil || string(b.objects["/latest"]) != "7\nmine" {
		t.Errorf("%v, the object is %q", err, b.objects["/latest"])
	}
}

func TestPut_TriesAgainWhileSomebodyWrites(t *testing.T) {
	b, client, object := start(t)
	b.busy = maxAttempts - 1
	if err := put(t.Context(), client, object, 7, []byte("mine")); err != nil {
		t.Error(err)
	}
	b.busy = maxAttempts
	if err := put(t.Context(), client, object, 7, []byte("mine")); err == nil || errors.Is(err, errFenced) {
		t.Errorf("it was busy for too long: %v", err)
	}
}

func TestPut_RefusesAnObjectWithoutAToken(t *testing.T) {
	for _, content := range []string{"", "7", "seven\nmine", "\nmine", "-7\nmine"} {
		b, client, object := start(t)
		b.objects = map[string][]byte{"/latest": []byte(content)}
		if err := put(t.Context(), client, object, 7, []byte("mine")); err == nil || string(b.objects["/latest"]) != content {
			t.Errorf("%q: %v", content, err)
		}
	}
}

func TestPut_ByManyAtATime(t *testing.T) {
	b, client, object := start(t)
	var all sync.WaitGroup
	for token := uint64(1); token <= 20; token++ {
		all.Go(func() { // waited for below
			for { // a writer that loses ten times tries again
				err := put(t.Context(), client, object, token, []byte("value"))
				if err == nil || errors.Is(err, errFenced) {
					return
				}
			}
		})
	}
	all.Wait()
	if got := string(b.objects["/latest"]); got != "20\nvalue" {
		t.Errorf("the object is %q", got)
	}
}
