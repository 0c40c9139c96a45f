package nodetest_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

// The nodes answer EVALSHA themselves, and leave EVAL to miniredis. Both answer the same.
func TestScripts_AnswerAsMiniredisDoes(t *testing.T) {
	bubble(t, 2, func(t *testing.T, _ *nodetest.Cluster, l *nodetest.Links) {
		client, reference := single(t, l), l.Clients()[1]
		for _, script := range []string{
			`return`, `return nil`, `return false`, `return true`, `return 3.9`, `return -1`, `return 'text'`, `return {}`,
			`return {1, 'two', {3, false}, nil, 5}`, `return {ok = 'fine'}`, `return {err = 'MINE text'}`,
			`return KEYS[1] .. ARGV[1] .. #KEYS .. #ARGV`, `return redis.call('SET', KEYS[1], 10)`,
			`return redis.call('GET', KEYS[1])`, `return redis.call('GET', 'none') == false`,
			`return redis.call('INCRBY', KEYS[1], 5)`, `return redis.call('HSET', 'h', 'f', 1.5, 'g', '')`,
			`return redis.call('HMGET', 'h', 'f', 'none', 'g')`, `return redis.call('HMGET', 'h', 'none')[1] == false`,
			`return redis.call('TYPE', 'h').ok`, `return redis.call('KEYS', 'none*')`, `redis.call('HGET', KEYS[1], 'f')`,
			`return redis.pcall('HGET', KEYS[1], 'f')`, `error('mine')`, `local x = nil; x()`,
			// The messages differ only in the line of miniredis's own script.
			`local _, e = pcall(function() mine = 1 end) return string.match(e, ' .*')`,
			`local _, e = pcall(function() return yours end) return string.match(e, ' .*')`,
		} {
			sha := client.ScriptLoad(t.Context(), script).Val()
			for _, numkeys := range []any{1, "x", -1, 9} {
				got := fmt.Sprint(client.Do(t.Context(), "EVALSHA", sha, numkeys, "k", "a").Result())
				want := fmt.Sprint(reference.Do(t.Context(), "EVAL", script, numkeys, "k", "a").Result())
				if got != want {
					t.Errorf("%s with %v keys answers\n%s, want\n%s", script, numkeys, got, want)
				}
			}
		}
	})
}

func TestScripts_AreKnownUntilTheNodeForgetsThem(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client, other := l.Clients()[0], l.Clients()[1]
		for i, forget := range []func(){
			func() {}, func() { c.Restart(0) }, func() { c.FlushScripts(0) },
			func() { ok(t, client.ScriptFlush(t.Context()).Err()) },
		} {
			sha, err := client.ScriptLoad(t.Context(), "return ARGV[1]").Result()
			ok(t, err)
			if got, err := client.EvalSha(t.Context(), sha, nil, "a").Result(); got != "a" {
				t.Errorf("loaded script: %v %v, want a", got, err)
			}
			if err := other.EvalSha(t.Context(), sha, nil).Err(); !errors.Is(err, redis.ErrNoScript) {
				t.Errorf("the other node: %v, want %v", err, redis.ErrNoScript)
			}
			forget()
			err = client.EvalSha(t.Context(), sha, nil, "a").Err()
			if forgotten := errors.Is(err, redis.ErrNoScript); forgotten != (i > 0) {
				t.Errorf("after %d: %v", i, err)
			}
		}
	})
}
