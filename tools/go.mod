module github.com/redlockfx/redlockfx/tools

go 1.26.0

tool (
	golang.org/x/exp/cmd/apidiff
	golang.org/x/vuln/cmd/govulncheck
)

require (
	codeberg.org/polyfloyd/go-errorlint v1.9.0
	github.com/kisielk/errcheck v1.30.0
	golang.org/x/tools v0.52.1-0.20261106145633-d407941a339a
	honnef.co/go/tools v0.8.2
)

require (
	github.com/BurntSushi/toml v1.4.1-0.20240526193622-a339e1f7089c // indirect
	golang.org/x/exp v0.0.0-20261113113407-e3970619a1a4 // indirect
	golang.org/x/exp/typeparams v0.0.0-20231108232855-2478ac86f678 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/telemetry v0.0.0-20261010193011-f71dc92da45e // indirect
	golang.org/x/vuln v1.9.0 // indirect
)
