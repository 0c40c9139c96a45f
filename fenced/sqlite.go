package fenced

// sqlite returns the statements of SQLite. Each transaction starts with a write, and so has the database to itself.
func sqlite(t tables) statements {
	const now = `CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)`
	s := shared(t, now)
	s.schema = []string{
		`CREATE TABLE IF NOT EXISTS ` + t.fences + ` (
	resource  TEXT NOT NULL PRIMARY KEY,
	token     INTEGER NOT NULL,
	replica   TEXT NOT NULL,
	raised_at INTEGER NOT NULL,
	cleaned   INTEGER NOT NULL
)`,
		`CREATE TABLE IF NOT EXISTS ` + t.keys + ` (
	resource TEXT NOT NULL,
	tick     INTEGER NOT NULL,
	run_key  TEXT NOT NULL,
	token    INTEGER NOT NULL,
	attempt  TEXT NOT NULL,
	digest   TEXT NOT NULL,
	replica  TEXT NOT NULL,
	done_at  INTEGER NOT NULL,
	PRIMARY KEY (resource, tick, run_key)
) WITHOUT ROWID`,
	}
	s.stamp = `INSERT INTO ` + t.fences + ` VALUES ('', $1, '', ` + now + `, 0) ON CONFLICT DO NOTHING`
	s.admitKey = `INSERT INTO ` + t.keys + ` (resource, tick, run_key, token, attempt, digest, replica, done_at)
SELECT f.resource, $1, $2, f.token, $3, $4, $5, ` + now + `
FROM ` + t.fences + ` f WHERE f.resource = $6 AND f.token = $7 AND f.cleaned < $8
ON CONFLICT DO NOTHING`
	s.admit = `UPDATE ` + t.fences + ` SET token = token WHERE resource = $1 AND token = $2 RETURNING token`
	s.raise = `INSERT INTO ` + t.fences + ` AS f (resource, token, replica, raised_at, cleaned) VALUES ($1, $2, $3, ` + now + `, 0)` +
		onlyUpwards
	s.held = s.key
	s.remove = removeOldest(t)
	// SQLite takes $1 for a named parameter.
	for _, each := range []*string{&s.stamp, &s.admitKey, &s.admit, &s.raise, &s.remove, &s.fence, &s.key, &s.wait, &s.held,
		&s.due, &s.newest, &s.mark} {
		*each = unnumbered(*each)
	}
	return s
}
