package written

import (
	"encoding/base64"
	"fmt"
	"testing"
)

// holder hides nothing.
type holder struct{ Text string }

// A test with it could not fail if no way of writing showed what is not hidden.
func TestOf_ShowsWhatNothingHides(t *testing.T) {
	const text = "S3cretPw"
	for how, got := range Of(holder{text}) {
		if !Shows(got, text) && !hidesAll[how] {
			t.Errorf("%s hides it: %.200s", how, got)
		}
	}
}

// hidesAll are the ways that write no text at all of such a struct: an address in its place, or a refusal.
var hidesAll = map[string]bool{
	"fmt %p, pointer": true, "fmt %p, in a pointed struct": true, "fmt %p, in a list": true, "fmt %p, in a map": true,
	"xml, in a map": true, "gob, in a map": true, "xml, in a struct": true, "xml, in a pointed struct": true,
}

func TestShows_KnowsASecretAsAnEncoderWritesIt(t *testing.T) {
	const text = "S3cretPw"
	for _, form := range []string{
		"x" + text + "x", fmt.Sprintf("%x", text), fmt.Sprintf("%X", text), fmt.Sprint([]byte("a" + text)),
		base64.StdEncoding.EncodeToString([]byte(text + "!")),
	} {
		if !Shows(form, text) {
			t.Errorf("%q is not known", form)
		}
	}
	if Shows("something else", text) {
		t.Error("anything is known")
	}
}
