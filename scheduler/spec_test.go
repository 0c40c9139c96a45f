package scheduler_test

import (
	"errors"
	"testing"

	"github.com/redlockfx/redlockfx/scheduler"
)

func TestParse_NamesAllBadFieldsAtOnce(t *testing.T) {
	_, err := scheduler.Parse("60 5,,6 * 13 *", nil)
	want := `scheduler: bad spec "60 5,,6 * 13 *": ` +
		"minute: 60 must be from 0 to 59\n" +
		`hour: "5,,6" has an empty item in its list` + "\n" +
		"month: 13 must be from 1 to 12"
	if !errors.Is(err, scheduler.ErrSpec) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
