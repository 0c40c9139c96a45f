package fenced

// postgres returns the statements of PostgreSQL. Names are compared byte by byte, which also makes the index smaller to search.
func postgres(t tables) statements {
	const now = `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`
	s := shared(t, now)
	s.schema = []string{
		`CREATE TABLE IF NOT EXISTS ` + t.fences + ` (
	resource  text COLLATE "C" PRIMARY KEY,
	token     bigint NOT NULL,
	replica   text NOT NULL,
	raised_at bigint NOT NULL,
	cleaned   bigint NOT NULL
)`,
		`CREATE TABLE IF NOT EXISTS ` + t.keys + ` (
	resource text COLLATE "C" NOT NULL,
	tick     bigint NOT NULL,
	run_key  text COLLATE "C" NOT NULL,
	token    bigint NOT NULL,
	attempt  text NOT NULL,
	replica  text NOT NULL,
	done_at  bigint NOT NULL,
	PRIMARY KEY (resource, tick, run_key)
)`,
	}
	// Two sessions that create one table at a time fail, in spite of IF NOT EXISTS.
	s.guard = `SELECT pg_advisory_xact_lock(7260423715)`
	s.stamp = `INSERT INTO ` + t.fences + ` VALUES ('', $1, '', ` + now + `, 0) ON CONFLICT DO NOTHING`
	// FOR SHARE waits for a raise that is under way, and then looks at the conditions again.
	s.admitKey = `INSERT INTO ` + t.keys + ` (resource, tick, run_key, token, attempt, replica, done_at)
SELECT f.resource, $1::bigint, $2::text, f.token, $3::text, $4::text, ` + now + `
FROM (SELECT resource, token FROM ` + t.fences + ` WHERE resource = $5 AND token = $6 AND cleaned < $7 FOR SHARE) f
ON CONFLICT DO NOTHING`
	s.admit = `SELECT token FROM ` + t.fences + ` WHERE resource = $1 AND token = $2 FOR SHARE`
	s.raise = upsertFence(t, now)
	s.remove = removeOldest(t)
	return s
}

// upsertFence raises a fence, or inserts it.
func upsertFence(t tables, now string) string {
	return `INSERT INTO ` + t.fences + ` AS f (resource, token, replica, raised_at, cleaned) VALUES ($1, $2, $3, ` + now + `, 0)
ON CONFLICT (resource) DO UPDATE SET token = excluded.token, replica = excluded.replica, raised_at = excluded.raised_at
WHERE f.token < excluded.token`
}

func removeOldest(t tables) string {
	return `DELETE FROM ` + t.keys + ` WHERE (tick, run_key) IN (SELECT tick, run_key FROM ` + t.keys +
		` WHERE resource = $1 AND tick <= $2 ORDER BY tick LIMIT $3) AND resource = $4`
}
