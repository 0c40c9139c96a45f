module github.com/redlockfx/redlockfx/internal/testkit/repo

go 1.26.0
