// Package refusal classifies the errors with which servers refuse a command. Versions and forks of Redis word the same
// refusal differently; the library decides by [Code] alone.
package refusal

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// The codes of refusals. Most servers start the error with them.
const (
	NoAuth      = "NOAUTH"      // no password was given
	WrongPass   = "WRONGPASS"   // the user or the password is wrong
	NoPerm      = "NOPERM"      // the user lacks a right
	ReadOnly    = "READONLY"    // the server is a replica
	MasterDown  = "MASTERDOWN"  // the server is a replica without its master
	Loading     = "LOADING"     // the server is loading its file after a start
	Busy        = "BUSY"        // a script runs and does not end
	NoScript    = "NOSCRIPT"    // the script must be sent
	OutOfMemory = "OOM"         // out of memory, and nothing to evict
	NoReplicas  = "NOREPLICAS"  // too few replicas for min-replicas-to-write
	MisConf     = "MISCONF"     // its last snapshot failed
	ClusterDown = "CLUSTERDOWN" // a slot is not served, or the shard is cut off
	Moved       = "MOVED"       // the slot is on another shard
	Ask         = "ASK"         // the slot is moving to another shard
	TryAgain    = "TRYAGAIN"    // the same, and some of the keys have already moved

	// UnknownCommand says that the command does not exist, was renamed or is blocked. Servers have no code for it.
	UnknownCommand = "UNKNOWN_COMMAND"
	// NoDatabase says that the server has no database with that number, or only one. Servers have no code for it either.
	NoDatabase = "NO_DATABASE"
)

// table lists the refusals. Earlier entries take precedence.
var table = []struct {
	code string
	// texts identify the refusal on servers that omit the code.
	texts []string
	// permanent says that retrying does not help.
	permanent bool
}{
	{NoAuth, []string{"unauthenticated"}, true},
	{WrongPass, nil, true},
	{NoPerm, []string{
		"The user executing the script can't", // in a script, before Redis 7.2
		"ACL failure in script",               // in a script, Redis 7.2 and later, Valkey
	}, true},
	{UnknownCommand, []string{
		"ERR unknown command",
		"Unknown Redis command called from", // in a script, Redis
		"Unknown command called from",       // in a script, Valkey
	}, true},
	{NoDatabase, []string{
		"DB index is out of range",
		"SELECT is not allowed in cluster mode",
	}, true},
	{ReadOnly, nil, false},
	{MasterDown, nil, false},
	{Loading, nil, false},
	{Busy, nil, false},
	{NoScript, nil, false},
	{OutOfMemory, nil, false},
	{NoReplicas, nil, false},
	{MisConf, nil, false},
	{ClusterDown, nil, false},
	{Moved, nil, false},
	{Ask, nil, false},
	{TryAgain, nil, false},
}

// known matches a code of the table where a server may write one: at the start, or, as Redis 6 does in scripts, after
// the position in the script ("ERR Error running script (call to f_...): @user_script:1: @user_script: 1: -OOM ...").
var known = regexp.MustCompile(`(?:^|: -?)(` + codes() + `)(?: |:|$)`)

func codes() string {
	var all []string
	for _, row := range table {
		all = append(all, row.code)
	}
	return strings.Join(all, "|")
}

// Code returns the code of a server's error: one of the codes above whatever the wording, or else the first word of the
// error. It returns "" if err is not an answer of a server.
func Code(err error) string {
	answer, ok := errors.AsType[redis.Error](err)
	if !ok {
		return ""
	}
	text := answer.Error()
	if found := known.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	for _, row := range table {
		if slices.ContainsFunc(row.texts, func(part string) bool { return strings.Contains(text, part) }) {
			return row.code
		}
	}
	code, _, _ := strings.Cut(text, " ")
	return code
}

// IsPermanent reports whether err is a refusal that retrying does not help: a wrong password, missing permissions, or a
// command or database that the server does not have.
func IsPermanent(err error) bool {
	code := Code(err)
	for _, row := range table {
		if row.code == code {
			return row.permanent
		}
	}
	return false
}
