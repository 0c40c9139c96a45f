package nodelist_test

import (
	"strings"
	"testing"

	"github.com/redlockfx/redlockfx/internal/nodelist"
)

func TestIsTorn(t *testing.T) {
	for list, want := range map[string]bool{
		"":                             false,
		"a:1":                          false,
		"a:1,b:1,c:1":                  false,
		"redis://a:1,b:1,rediss://c:1": false,
		"redis://u:p@a:1":              false,
		"redis://u:p@a:1,redis://u:p@b:1,redis://u:p@c:1":        false,
		"u:p@a:1,u:p@b:1,redis://u:p@c:1":                        false,
		"redis://locks:77,S3cretPw,x:y@r1:6379":                  true,
		"locks:77,S3cretPw,x:y@r1:6379":                          true,
		"redis://u:p@S3cretPw,x:y@r1:6379,redis://u:p@b:1":       true,
		"redis://u:p@S3cretPw,x:y@r1:6379":                       true,
		"redis://u:p@a:1,redis://locks:77,x:y@r1:6379":           true,
		"redis://u:p@a:1,redis://u:p@b:1,redis://locks:77,w@c:1": true,
	} {
		if got := nodelist.IsTorn(strings.Split(list, ",")); got != want {
			t.Errorf("%s: got %v", list, got)
		}
	}
}
