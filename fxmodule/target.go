package redlockfx

import (
	"fmt"
	"regexp"
)

// GroupOption says to which election a helper applies.
type GroupOption func(*target)

// For applies a helper to the election with this name, see [Named].
func For(name string) GroupOption { return func(t *target) { t.name = name } }

func forAll(t *target) { t.all = true }

// target identifies an election of the application, or all of them; "" is Module's.
type target struct {
	name string
	all  bool
}

var nameRule = regexp.MustCompile(`^[A-Za-z0-9_-]{0,64}$`)

func newTarget(opts ...GroupOption) (target, error) {
	var t target
	for i, opt := range opts {
		if opt == nil {
			return t, fmt.Errorf("redlockfx: option %d of %d is nil", i+1, len(opts))
		}
		opt(&t)
	}
	if !nameRule.MatchString(t.name) {
		return t, fmt.Errorf("redlockfx: the name %q of an election in the application must be 1 to 64 "+
			"letters, digits, '_' or '-'", t.name)
	}
	return t, nil
}

// option returns the expression that adds this election to an application.
func (t target) option() string {
	if t.name == "" {
		return "redlockfx.Module"
	}
	return fmt.Sprintf("redlockfx.Named(%q)", t.name)
}

// title returns the name of the fx module and of its logger.
func (t target) title() string {
	if t.name == "" {
		return "redlock"
	}
	return "redlock-" + t.name
}

// nameTag marks the values that the election provides, and its Config.
func (t target) nameTag() string {
	if t.name == "" {
		return ""
	}
	return fmt.Sprintf("name:%q", t.name)
}

// group is the group of what the helpers collect for the election. fx keeps apart values of different types.
func (t target) group() string {
	if t.all {
		return "redlockfx *" // no election has this name
	}
	return "redlockfx " + t.name
}

func (t target) groupTag() string { return fmt.Sprintf("group:%q", t.group()) }

// allElections is the group of all elections in the application.
const allElections = `group:"redlockfx elections *"`
