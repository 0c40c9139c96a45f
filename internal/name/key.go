package name

import "strings"

// Key returns the key under which the nodes keep one kind of data for an election, as in {prefix}:terms:billing. It is
// in the same slot as the prefix's other keys.
func Key(prefix, kind, election string) string {
	return "{" + prefix + "}:" + kind + ":" + Escape(election)
}

// Escape returns a name without colons, so that the parts of a key stay apart. No two names are escaped to the same text.
func Escape(name string) string { return escape.Replace(name) }

var escape = strings.NewReplacer("%", "%25", ":", "%3A")
