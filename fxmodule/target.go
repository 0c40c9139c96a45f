package redlockfx

import (
	"fmt"
	"regexp"
)

// GroupOption says which election a helper is for.
type GroupOption func(*target)

// For is the election that [Named] was given this name.
func For(name string) GroupOption { return func(t *target) { t.name = name } }

// target is the election that something belongs to; "" is Module's.
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

// option is what the application adds to have this election.
func (t target) option() string {
	if t.name == "" {
		return "redlockfx.Module"
	}
	return fmt.Sprintf("redlockfx.Named(%q)", t.name)
}

// title is the name of the fx module and of its logger.
func (t target) title() string {
	if t.name == "" {
		return "redlock"
	}
	return "redlock-" + t.name
}

// allElections is the group of all elections in the application.
const allElections = `group:"redlockfx_elections"`

// optional is what a single value without a name may be: absent.
const optional = `optional:"true"`

// nameTag marks what the election provides, and its Config.
func (t target) nameTag() string {
	if t.name == "" {
		return ""
	}
	return fmt.Sprintf("name:%q", t.name)
}

// privateTag marks what nobody but the module takes. A name is needed though it is private: to fx, things of one type
// look like a cycle where one election takes the Locker of another.
func (t target) privateTag() string { return fmt.Sprintf(`name:"redlockfx_%s"`, t.name) }

// groupTag marks what the helpers collect for the election.
func (t target) groupTag(kind string) string {
	if t.name == "" {
		return fmt.Sprintf(`group:"redlockfx_%s"`, kind)
	}
	return fmt.Sprintf(`group:"redlockfx_%s_%s"`, kind, t.name)
}
