package name

import "strings"

// Key is the key of what the nodes keep of one kind for an election, as in {prefix}:terms:billing. It lies in the slot of
// the prefix's other keys.
func Key(prefix, kind, election string) string {
	return "{" + prefix + "}:" + kind + ":" + Escape(election)
}

// Escape returns a name without colons, so that the parts of a key stay apart. No two names are escaped to the same text.
func Escape(name string) string { return escape.Replace(name) }

var escape = strings.NewReplacer("%", "%25", ":", "%3A")
