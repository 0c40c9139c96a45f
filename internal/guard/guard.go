// Package guard has the part of the scripts that tells whether a server may have forgotten what it
// granted: redlock asks before it grants a lease, scheduler before it counts a vote for a tick.
package guard

import _ "embed" // the script

// Source goes into a script where it must know; it says itself what it needs and what it declares.
//
//go:embed guard.lua
var Source string
