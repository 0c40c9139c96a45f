package refusal_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/refusal"
)

// answer is an error of a server.
type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}

var _ redis.Error = answer("")

const (
	in6 = "ERR Error running script (call to f_104ae65debf45156ded1e8e613705534c8e62c17): @user_script:1: @user_script: 1: "
	in7 = " script: 104ae65debf45156ded1e8e613705534c8e62c17, on @user_script:1."
	in9 = " script: on @user_script:1." // Valkey 9
)

// The texts of Redis 6.0, 7.0 and 8.0 and of Valkey 8.1 and 9.1, as received from the servers.
func TestCode_IsTheSameWhateverTheWords(t *testing.T) {
	for text, want := range map[string]string{
		"NOAUTH Authentication required.":                                                         refusal.NoAuth,
		"NOAUTH HELLO must be called with the client already authenticated, otherwise":            refusal.NoAuth,
		"ERR unauthenticated":                                                                     refusal.NoAuth,
		"WRONGPASS invalid username-password pair":                                                refusal.WrongPass,
		"WRONGPASS invalid username-password pair or user is disabled.":                           refusal.WrongPass,
		"NOPERM this user has no permissions to run the 'set' command or its subcommand":          refusal.NoPerm,
		"NOPERM this user has no permissions to access one of the keys used as arguments":         refusal.NoPerm,
		"NOPERM User a has no permissions to run the 'set' command":                               refusal.NoPerm,
		"NOPERM No permissions to access a key":                                                   refusal.NoPerm,
		in6 + "The user executing the script can't run this command or subcommand":                refusal.NoPerm,
		"ERR The user executing the script can't access at least one of the keys" + in7:           refusal.NoPerm,
		"ERR ACL failure in script: User a has no permissions to run the 'time' command" + in7:    refusal.NoPerm,
		"ERR ACL failure in script: No permissions to access a key" + in9:                         refusal.NoPerm,
		"ERR unknown command `FOO`, with args beginning with: `bar`, ":                            refusal.UnknownCommand,
		"ERR unknown command 'FOO', with args beginning with: 'NOPERM' ":                          refusal.UnknownCommand,
		in6 + "Unknown Redis command called from Lua script":                                      refusal.UnknownCommand,
		"ERR Unknown Redis command called from script" + in7:                                      refusal.UnknownCommand,
		"ERR Unknown command called from script" + in9:                                            refusal.UnknownCommand,
		"ERR DB index is out of range":                                                            refusal.NoDatabase,
		"ERR SELECT is not allowed in cluster mode":                                               refusal.NoDatabase,
		"READONLY You can't write against a read only replica." + in9:                             refusal.ReadOnly,
		in6 + "-READONLY You can't write against a read only replica.":                            refusal.ReadOnly,
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.":        refusal.MasterDown,
		"LOADING Redis is loading the dataset in memory":                                          refusal.Loading,
		"LOADING Valkey is loading the dataset in memory":                                         refusal.Loading,
		"BUSY Valkey is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.": refusal.Busy,
		"NOSCRIPT No matching script.":                                                            refusal.NoScript,
		"NOSCRIPT No matching script. Please use EVAL.":                                           refusal.NoScript,
		in6 + "-OOM command not allowed when used memory > 'maxmemory'.":                          refusal.OutOfMemory,
		"OOM command not allowed when used memory > 'maxmemory'." + in7:                           refusal.OutOfMemory,
		"NOREPLICAS Not enough good replicas to write." + in9:                                     refusal.NoReplicas,
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist": refusal.MisConf,
		"CLUSTERDOWN Hash slot not served":                                                        refusal.ClusterDown,
		"MOVED 3999 127.0.0.1:1":                                                                  refusal.Moved,
		"ASK 3999 127.0.0.1:1":                                                                    refusal.Ask,
		"TRYAGAIN Multiple keys request during rehashing of slot":                                 refusal.TryAgain,
		"WRONGTYPE Operation against a key holding the wrong kind of value":                       "WRONGTYPE",
		"ERR max number of clients reached":                                                       "ERR",
		"BUSYGROUP Consumer Group name already exists":                                            "BUSYGROUP",
		"something that is new":                                                                   "something",
	} {
		if got := refusal.Code(fmt.Errorf("r1:6379: %w", answer(text))); got != want {
			t.Errorf("%s: %q, want %s", text, got, want)
		}
	}
}

func TestCode_IsNoneOfWhatNoServerSaid(t *testing.T) {
	for _, err := range []error{nil, errors.New("NOPERM this user has no permissions"), errors.ErrUnsupported} {
		if got := refusal.Code(err); got != "" || refusal.IsPermanent(err) {
			t.Errorf("%v: %q, want no refusal", err, got)
		}
	}
}

func TestIsPermanent_OnlyWhatAskingAgainDoesNotMend(t *testing.T) {
	for text, want := range map[string]bool{
		"NOAUTH Authentication required.":                                     true,
		"WRONGPASS invalid username-password pair":                            true,
		"NOPERM No permissions to access a key":                               true,
		"ERR ACL failure in script: No permissions to access a key" + in9:     true,
		"ERR unknown command 'evalsha'":                                       true,
		"ERR DB index is out of range":                                        true,
		"LOADING Redis is loading the dataset in memory":                      false,
		"READONLY You can't write against a read only replica.":               false,
		"OOM command not allowed when used memory > 'maxmemory'.":             false,
		"ERR max number of clients reached":                                   false,
		"WRONGTYPE Operation against a key holding the wrong kind of value":   false,
		in6 + "-OOM command not allowed when used memory > 'maxmemory'.":      false,
		"CLUSTERDOWN The cluster is down":                                     false,
		"BUSY Redis is busy running a script. You can only call SCRIPT KILL.": false,
	} {
		if got := refusal.IsPermanent(answer(text)); got != want {
			t.Errorf("%s: permanent %v, want %v", text, got, want)
		}
	}
}

// Whatever a server refuses with, its code is found at once and decides: a code is one of the words of the refusal.
func FuzzCode(f *testing.F) {
	f.Add("ERR unknown command 'FOO', with args beginning with: 'NOPERM' ")
	f.Add("ERR Error running script (call to f_): @user_script:1: @user_script: 1: -OOM x")
	f.Add(strings.Repeat(": -", 1000))
	f.Fuzz(func(t *testing.T, text string) {
		code := refusal.Code(answer(text))
		if refusal.Code(fmt.Errorf("r1:6379: %w", answer(text))) != code {
			t.Errorf("%q has another code where it is wrapped", text)
		}
		known := slices.Contains([]string{refusal.NoAuth, refusal.NoPerm, refusal.UnknownCommand}, code) // by other words, too
		if !known && !strings.Contains(text, code) {
			t.Errorf("%q is %q", text, code)
		}
		if refusal.IsPermanent(answer(text)) && !known && code != refusal.WrongPass {
			t.Errorf("%q, %q, is permanent", text, code)
		}
	})
}
