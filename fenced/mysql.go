package fenced

// mysql returns the statements of MySQL and MariaDB. Names are VARBINARY, because the collations that both databases
// have treat "a" and "a " as equal.
func mysql(t tables) statements {
	const now = `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))`
	s := shared(t, now)
	s.schema = []string{
		`CREATE TABLE IF NOT EXISTS ` + t.fences + ` (
	resource  VARBINARY(200) NOT NULL PRIMARY KEY,
	token     BIGINT NOT NULL,
	replica   VARBINARY(200) NOT NULL,
	raised_at BIGINT NOT NULL,
	cleaned   BIGINT NOT NULL
) ENGINE = InnoDB`,
		`CREATE TABLE IF NOT EXISTS ` + t.keys + ` (
	resource VARBINARY(200) NOT NULL,
	tick     BIGINT NOT NULL,
	run_key  VARBINARY(250) NOT NULL,
	token    BIGINT NOT NULL,
	attempt  VARBINARY(40) NOT NULL,
	digest   VARBINARY(64) NOT NULL,
	replica  VARBINARY(200) NOT NULL,
	done_at  BIGINT NOT NULL,
	PRIMARY KEY (resource, tick, run_key)
) ENGINE = InnoDB`,
	}
	s.stamp = `INSERT IGNORE INTO ` + t.fences + ` VALUES ('', ?, '', ` + now + `, 0)`
	// A read with a lock sees the newest version of the row, even under REPEATABLE READ.
	s.admitKey = `INSERT IGNORE INTO ` + t.keys + ` (resource, tick, run_key, token, attempt, digest, replica, done_at)
SELECT f.resource, ?, ?, f.token, ?, ?, ?, ` + now + `
FROM ` + t.fences + ` f WHERE f.resource = ? AND f.token = ? AND f.cleaned < ? LOCK IN SHARE MODE`
	s.admit = `SELECT token FROM ` + t.fences + ` WHERE resource = ? AND token = ? LOCK IN SHARE MODE`
	// Assignments take effect from left to right, so the token comes last.
	s.raise = `INSERT INTO ` + t.fences + ` (resource, token, replica, raised_at, cleaned) VALUES (?, ?, ?, ` + now + `, 0)
ON DUPLICATE KEY UPDATE replica = IF(token < VALUES(token), VALUES(replica), replica),
raised_at = IF(token < VALUES(token), VALUES(raised_at), raised_at), token = GREATEST(token, VALUES(token))`
	s.remove = `DELETE FROM ` + t.keys + ` WHERE resource = ? AND tick <= ? ORDER BY tick, run_key LIMIT ?`
	s.held = s.key
	s.key += ` LOCK IN SHARE MODE`
	s.wait = `INSERT IGNORE INTO ` + t.keys + ` VALUES (?, ?, ?, 0, '', '', '', 0)`
	for _, each := range []*string{&s.fence, &s.key, &s.held, &s.due, &s.newest, &s.mark} {
		*each = unnumbered(*each)
	}
	return s
}
