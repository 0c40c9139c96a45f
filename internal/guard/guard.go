// Package guard has the part of the scripts that checks whether a server may have lost what it granted. redlock checks
// it before it grants a lease, scheduler before it counts a vote for a tick.
package guard

import _ "embed" // the script

// Source is included in scripts. It documents the variables it needs and declares.
//
//go:embed guard.lua
var Source string
