// Package guard has the part of the scripts that tells whether a server may have forgotten what it
// granted: redlock asks before it grants a lease, scheduler before it counts a vote for a tick.
package guard

import _ "embed" // the script

// Source goes in front of a script that calls recognise or listed, or reads now, the server's clock in µs.
//
//go:embed guard.lua
var Source string
