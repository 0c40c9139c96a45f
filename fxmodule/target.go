package redlockfx

import (
	"fmt"
	"regexp"
)

// GroupOption says to which election a helper applies.
type GroupOption func(*target)

// For applies a helper to the election with this name, see [Named].
func For(name string) GroupOption { return func(t *target) { t.name = name } }

// target identifies an election of the application; "" is Module's.
type target struct{ name string }

var nameRule = regexp.MustCompile(`^[A-Za-z0-9_-]{0,64}$`)

func newTarget(opts ...GroupOption) (target, error) {
	var t target
	for _, opt := range opts {
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

// allElections is the group of all elections in the application.
const allElections = `group:"redlockfx_elections"`

// optional marks a single value that may be absent.
const optional = `optional:"true"`

// nameTag marks the values that the election provides, and its Config.
func (t target) nameTag() string {
	if t.name == "" {
		return ""
	}
	return fmt.Sprintf("name:%q", t.name)
}

// privateTag marks values that only the module takes. They need a name although they are private: otherwise fx would
// see a cycle if one election takes the Locker of another.
func (t target) privateTag() string { return fmt.Sprintf(`name:"redlockfx_%s"`, t.name) }

// groupTag marks the values that the helpers collect for the election.
func (t target) groupTag(kind string) string {
	if t.name == "" {
		return fmt.Sprintf(`group:"redlockfx_%s"`, kind)
	}
	return fmt.Sprintf(`group:"redlockfx_%s_%s"`, kind, t.name)
}
