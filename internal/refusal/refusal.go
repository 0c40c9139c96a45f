// Package refusal knows the words with which servers refuse a command. Versions and forks of Redis say the same thing in
// other words; what the library makes of a refusal depends on [Code] alone.
package refusal

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// The codes of what is refused. Most servers begin the refusal with them.
const (
	NoAuth      = "NOAUTH"      // no password was given
	WrongPass   = "WRONGPASS"   // the user or the password is wrong
	NoPerm      = "NOPERM"      // the user lacks a right
	ReadOnly    = "READONLY"    // a replica
	MasterDown  = "MASTERDOWN"  // a replica without its master
	Loading     = "LOADING"     // its file, after a start
	Busy        = "BUSY"        // a script runs and does not end
	NoScript    = "NOSCRIPT"    // the script has to be sent
	OutOfMemory = "OOM"         // and nothing to evict
	NoReplicas  = "NOREPLICAS"  // too few for min-replicas-to-write
	MisConf     = "MISCONF"     // its last snapshot failed
	ClusterDown = "CLUSTERDOWN" // a slot is not served, or the shard is cut off
	Moved       = "MOVED"       // the slot is on another shard
	Ask         = "ASK"         // the slot is on its way to another shard
	TryAgain    = "TRYAGAIN"    // the same, and half of the keys have gone

	// UnknownCommand has no code of its own on any server: the command does not exist, was renamed or is blocked.
	UnknownCommand = "UNKNOWN_COMMAND"
	// NoDatabase has none either: the server has no database of that number, or only one.
	NoDatabase = "NO_DATABASE"
)

// table has the refusals, the ones by which the library decides first.
var table = []struct {
	code string
	// texts mean the same on servers that say it without the code.
	texts []string
	// permanent: asking again does not mend it.
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

// known finds a code of the table where a server may write one: first of all, or, as Redis 6 does in scripts, behind the
// place in the script ("ERR Error running script (call to f_...): @user_script:1: @user_script: 1: -OOM ...").
var known = regexp.MustCompile(`(?:^|: -?)(` + codes() + `)(?: |:|$)`)

func codes() string {
	var all []string
	for _, row := range table {
		all = append(all, row.code)
	}
	return strings.Join(all, "|")
}

// Code is what a server refuses, whatever its words: one of the codes above, or the first word of another error. It is
// empty if err is no answer of a server.
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

// IsPermanent reports a refusal that asking again does not mend: a wrong password, missing rights, a command or a
// database that the server does not have.
func IsPermanent(err error) bool {
	code := Code(err)
	for _, row := range table {
		if row.code == code {
			return row.permanent
		}
	}
	return false
}
