package refusal_test

import (
	"testing"

	"github.com/redlockfx/redlockfx/internal/refusal"
)

func TestRight_IsNamedWhateverTheWords(t *testing.T) {
	const script = "local t = redis.call('TIME')\nif t[1] then\n  redis.call('ZADD', KEYS[1], redis.pcall('HGET', KEYS[2], 'x'))\nend"
	for text, want := range map[string]string{
		in6 + "The user executing the script can't run this command or subcommand":                             "the right +time",
		"ERR The user executing the script can't run this command or subcommand script: f, on @user_script:1.": "the right +time",
		"ERR The user executing the script can't run this command or subcommand script: f, on @user_script:3.": "one of the rights +hget +zadd",
		"ERR The user executing the script can't run this command or subcommand script: f, on @user_script:4.": "one of the rights +hget +time +zadd",
		"ERR The user executing the script can't run this command or subcommand":                               "one of the rights +hget +time +zadd",
		"ERR ACL failure in script: User a has no permissions to run the 'pubsub|numsub' command" + in7:        "the right +pubsub|numsub",
		"NOPERM this user has no permissions to run the 'evalsha' command or its subcommand":                   "the right +evalsha",
		"NOPERM this user has no permissions to access one of the keys used as arguments":                      "a key pattern (~)",
		"ERR The user executing the script can't access at least one of the keys" + in7:                        "a key pattern (~)",
		"ERR ACL failure in script: No permissions to access a key" + in9:                                      "a key pattern (~)",
		"NOPERM No permissions to access a channel":                                                            "a channel pattern (&)",
		"ERR The user executing the script can't publish to the channel mentioned in the command" + in7:        "a channel pattern (&)",
	} {
		if got := refusal.Right(answer(text), script); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
