package fenced

// postgres returns the statements of PostgreSQL. Names are compared byte by byte, which also makes searches of the
// index cheaper.
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
	digest   text NOT NULL,
	replica  text NOT NULL,
	done_at  bigint NOT NULL,
	PRIMARY KEY (resource, tick, run_key)
)`,
	}
	// If two sessions create the same table at the same time, one of them fails in spite of IF NOT EXISTS.
	s.guard = `SELECT pg_advisory_xact_lock(7260423715)`
	s.stamp = `INSERT INTO ` + t.fences + ` VALUES ('', $1, '', ` + now + `, 0) ON CONFLICT DO NOTHING`
	// FOR SHARE waits for a raise that is under way, and then looks at the conditions again.
	s.admitKey = turnstile(t, "pg_advisory_xact_lock_shared", "$6", "") + `
INSERT INTO ` + t.keys + ` (resource, tick, run_key, token, attempt, digest, replica, done_at)
SELECT f.resource, $1::bigint, $2::text, f.token, $3::text, $4::text, $5::text, ` + now + `
FROM (SELECT resource, token FROM turnstile, ` + t.fences + ` f WHERE resource = $6 AND token = $7 AND cleaned < $8 FOR SHARE OF f) f
ON CONFLICT DO NOTHING`
	s.admit = turnstile(t, "pg_advisory_xact_lock_shared", "$1", "") + `
SELECT token FROM turnstile, ` + t.fences + ` f WHERE resource = $1 AND token = $2 FOR SHARE OF f`
	// If another run of the same leader has raised the fence meanwhile, this one need not wait until that run has ended.
	raised := ` WHERE NOT EXISTS (SELECT 1 FROM ` + t.fences + ` WHERE resource = $1 AND token >= $2)`
	s.raise = turnstile(t, "pg_advisory_xact_lock", "$1", raised) + `
INSERT INTO ` + t.fences + ` AS f (resource, token, replica, raised_at, cleaned)
SELECT $1::text, $2::bigint, $3::text, ` + now + `, 0 FROM turnstile` + onlyUpwards
	// Clean is not urgent: it must not hold up those who wait behind it at the turnstile.
	s.lockTimeout = `SET LOCAL lock_timeout = '1s'`
	s.mark = turnstile(t, "pg_advisory_xact_lock", "$2", "") + `
UPDATE ` + t.fences + ` SET cleaned = $1 FROM turnstile WHERE resource = $2 AND cleaned < $3`
	s.remove = removeOldest(t)
	return s
}

// turnstile returns the start of a statement: a subquery of that name, with a condition, that takes an advisory lock
// for the resource in a parameter. Row locks are not fair: a transaction that wants one in shared mode gets it ahead of
// one that waits for exclusive mode. The latter would wait forever if the transactions on a resource overlap. Advisory
// locks are granted in turn. The lock depends on the OID of the table, because tables in several schemas of a database
// may have the same name.
func turnstile(t tables, lock, resource, condition string) string {
	return `WITH turnstile AS (SELECT ` + lock + `(('x' || substr(md5('` + t.fences + `'::regclass::oid::text || ' ' || ` + resource +
		`::text), 1, 16))::bit(64)::bigint)` + condition + `)`
}

// onlyUpwards ends the statement that raises a fence f, or inserts it.
const onlyUpwards = `
ON CONFLICT (resource) DO UPDATE SET token = excluded.token, replica = excluded.replica, raised_at = excluded.raised_at
WHERE f.token < excluded.token`

func removeOldest(t tables) string {
	return `DELETE FROM ` + t.keys + ` WHERE (tick, run_key) IN (SELECT tick, run_key FROM ` + t.keys +
		` WHERE resource = $1 AND tick <= $2 ORDER BY tick LIMIT $3) AND resource = $4`
}
