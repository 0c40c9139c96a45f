package redlock

import (
	"crypto/sha1"
	"encoding/hex"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/guard"
)

// SendsAcquire and SendsRepair report whether a command runs that script.
var (
	SendsAcquire = sends(guard.Source + guardSource + acquireSource)
	SendsRepair  = sends(guard.Source + guardSource + repairSource)
)

func sends(source string) func(cmd redis.Cmder) bool {
	sum := sha1.Sum([]byte(source))
	hash := hex.EncodeToString(sum[:])
	return func(cmd redis.Cmder) bool {
		args := cmd.Args()
		return len(args) > 1 && (args[1] == hash || args[1] == source)
	}
}
