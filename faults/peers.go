package main

import (
	"context"
	"runtime/debug"
)

// peer is a library in one of its uses.
type peer struct {
	name      string
	module    string // whose version is printed
	servers   int    // Redis masters; 0: one PostgreSQL
	schedules bool   // it runs a job at each tick; otherwise it holds
	settings  string
	run       func(ctx context.Context, r *replica) error // the main function of a replica
}

const here = "github.com/redlockfx/redlockfx"

var peers = []peer{
	{"redlockfx", here, 1, false, "an election, TTL 10 s", leadRedlockfx},
	{"redlockfx, 3 nodes", here, 3, false, "an election, TTL 10 s", leadRedlockfx},
	{"redsync", "github.com/go-redsync/redsync/v4", 1, false, "expiry 8 s", holdRedsync},
	{"redsync, 3 nodes", "github.com/go-redsync/redsync/v4", 3, false, "expiry 8 s", holdRedsync},
	{"redislock", "github.com/bsm/redislock", 1, false, "TTL 10 s (no default)", holdRedislock},
	{"rueidislock", "github.com/redis/rueidis", 1, false, "validity 5 s", holdRueidislock},

	{"redlockfx, jobs", here, 1, true, "TTL 10 s, catches up with the newest tick", scheduleRedlockfx},
	{"redlockfx, jobs, 3 nodes", here, 3, true, "TTL 10 s, catches up with the newest tick", scheduleRedlockfx},
	{"gocron, locker", "github.com/go-co-op/gocron/v2", 1, true, "gocron-redis-lock, expiry 8 s, one try", scheduleGocronLocker},
	{"gocron, elector", "github.com/go-co-op/gocron/v2", 1, true, "elector: a lock of redsync", scheduleGocronElector},
	{"robfig/cron, redsync", "github.com/robfig/cron/v3", 1, true, "a lock for each tick, kept", scheduleCron},
	{"asynq", "github.com/hibiken/asynq", 1, true, "a scheduler in each replica, unique for a tick", scheduleAsynq},
	{"River", "github.com/riverqueue/river", 0, true, "a periodic job on PostgreSQL", scheduleRiver},
}

// version returns the version of a module that this program was built with.
func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		if m.Path == module && module != here {
			return m.Version
		}
	}
	return "this one"
}
