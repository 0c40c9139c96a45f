module github.com/redlockfx/redlockfx/examples/tenants

go 1.26.0

replace github.com/redlockfx/redlockfx => ../../

require (
	github.com/ncruces/go-sqlite3 v0.35.6
	github.com/redis/go-redis/v9 v9.22.0
	github.com/redlockfx/redlockfx v0.0.0
)

require (
	github.com/alicebob/miniredis/v2 v2.40.0 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/ncruces/go-sqlite3-wasm/v6 v6.3.35304 // indirect
	github.com/ncruces/julianday v1.0.0 // indirect
	github.com/robfig/cron/v3 v3.0.1 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.uber.org/multierr v1.10.0 // indirect
	go.uber.org/zap v1.28.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
)
