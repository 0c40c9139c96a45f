// Package guard has the part of the scripts that checks whether a server may have lost what it granted. redlock checks
// it before it grants a lease, scheduler before it counts a vote for a tick.
package guard

import (
	_ "embed" // the scripts
	"errors"
	"strings"
)

// ErrNoIdentity says that a server hides its identity.
var ErrNoIdentity = errors.New("scripts may not call INFO, so a restart of the server could not be detected: permit it " +
	"(ACL +info), or accept such nodes with WithUnseenRestarts")

var (
	//go:embed guard.lua
	guardSource string
	//go:embed identity.lua
	identitySource string

	include = strings.NewReplacer("-- include guard", guardSource, "-- include identity", identitySource)
)

// Include replaces the comments "include guard" and "include identity" in a script. guard.lua and identity.lua document
// the variables that they need and declare; the guard includes the identity.
func Include(script string) string { return include.Replace(include.Replace(script)) }
