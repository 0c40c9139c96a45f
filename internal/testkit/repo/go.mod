module github.com/redlockfx/redlockfx/internal/testkit/repo

go 1.26.0

require github.com/bluekeyes/go-gitdiff v0.9.0
