# Plain `make` lists the targets. Start with Go, git and make; `make test` installs the rest.

SHELL := bash
.DEFAULT_GOAL := help
.NOTPARALLEL:

# Separate modules keep their dependencies out of go.mod; tools only pins the linters.
nested := $(filter-out tools,$(patsubst %/go.mod,%,$(wildcard */go.mod */*/go.mod */*/*/go.mod)))
modules := . $(nested)
# Its tests need a Chromium, which is large, so they have a separate target.
browser := dashboard/browsertest
# Its tests read the whole repository, which the cache of test results cannot see, so they have a separate target.
repo := internal/testkit/repo
# All but these two: the tests of libraries that they use need modules that nothing here uses.
tidied := . tools $(filter-out bench examples/migration,$(nested))
# How tests are compiled, also for the linter, so that it happens once: the packages of this repository without inlining, which takes
# half as long. With plain -gcflags=-l, a command would compile the packages that it does not name once more.
compiled := -gcflags=github.com/redlockfx/redlockfx/...=-l
# With race detection, but for the Lua interpreter of the tests' nodes, none of which is shared between goroutines: a fifth of the time.
raced := -race $(compiled) -gcflags=github.com/yuin/gopher-lua/...=-race=false
# Random plans, whose number is a flag: make ci plays some, make soak many, and go test ./... a few.
simulations := ^(TestSimulation_|TestPlans_|TestSkew_EveryTick|TestRemoved_JobsCanBeForgotten|TestModel_|TestNext_Keeps)
# Modules whose code or tests have goroutines, but for redlockctl: with the race detector, its many processes are late for the nodes.
concurrent := adapters/asynqtick adapters/gocronlock adapters/rivertick otelredlock
# The file of a tool. Run it directly, because go tool -modfile refuses to work where there is a go.work.
tool = "$$(GOWORK=off go tool -modfile=$(CURDIR)/tools/go.mod -n $(1))"
steps = +@MAKE="$(MAKE)" bash scripts/steps.sh "make $@"

##@ Everything
.PHONY: help test ci install

help: ## list the targets
	@awk -F ':.*## ' '/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

test: ## the library's checks and tests, also on real servers: at most 8 minutes on two cores, installs included
	$(steps) install lint unit integration

ci: ## everything else: the other modules, browser, documents, a release, long simulations, races: at most 25 minutes more
	$(steps) race tools tidiness lintmodules nested browser repo simulation

install: ## install redis-server, redis-cli and a C compiler (for -race), if missing
	@bash scripts/install.sh

##@ One check of make test at a time
.PHONY: lint unit integration

lint: ## check formatting; go vet's analyzers, staticcheck, errcheck, errorlint and go fix's, in one load
	@test -z "$$(gofmt -l .)" || { gofmt -d .; echo 'lint: not formatted, run make fmt' >&2; exit 1; }
	@COMPILED='$(compiled)' bash scripts/lint.sh .

unit: ## the tests of the library's module but the simulations
	go test -vet=off $(compiled) -timeout=15m -skip '$(simulations)' ./...

integration: ## the tests on real redis-server processes, with -race
	GORACE=atexit_sleep_ms=0 go -C integration test -vet=off $(raced) -count=1 -timeout=10m ./...

##@ One check of make ci at a time
.PHONY: race tools tidiness lintmodules nested browser repo simulation

race: ## the tests of make unit that are not long, with -race
	GORACE=atexit_sleep_ms=0 go test -vet=off $(raced) -short -timeout=15m -skip '$(simulations)' ./...

tools: ## install prometheus, PostgreSQL, MariaDB and Chromium, if missing
	@bash scripts/install.sh prometheus postgresql mariadb-server chromium

tidiness: ## check that go.mod is tidy, in every module but bench and examples/migration
	@bash scripts/tidy.sh -diff $(tidied)

lintmodules: ## lint in the modules with their own go.mod, in one load, and the linter itself
	@bash scripts/lint.sh $(nested)
	@bash scripts/lint.sh tools

nested: ## build and test the modules with their own go.mod, two at a time, because their tests mostly wait
	@printf '%s\n' $(filter-out $(browser) $(repo) integration,$(nested)) | xargs -P 2 -I{} sh -c \
		'flags=; for m in $(concurrent); do [ $$m != {} ] || flags="$(raced)"; done; \
		out=$$(go -C {} build -o /dev/null ./... 2>&1 && go -C {} test -vet=off $$flags ./... 2>&1); status=$$?; \
		echo "nested {}"; echo "$$out"; exit $$status'

browser: ## test the dashboard in a real Chromium
	go -C $(browser) test -vet=off -count=1 -timeout=10m ./...

repo: ## check imports, the length of files, documents, copied examples, a release, and whether the mutants still fit
	go -C $(repo) test -vet=off -count=1 -timeout=20m ./...

simulation: ## the random plans of faults, and the models of the line and the job store: a small part of make soak
	go test -vet=off -timeout=10m -run '$(simulations)' ./redlock -args -plans=200
	go test -vet=off -timeout=10m -run '$(simulations)' ./election -args -rapid.checks=60
	go test -vet=off -timeout=10m -run '$(simulations)' ./scheduler -args -skew.ticks=30 -removed.plans=12 -setback.plans=30 -setback.verbs=120
	go test -vet=off -timeout=10m -run '$(simulations)' ./internal/jobmachine -args -jobmachine.events=300000
	go test -vet=off -timeout=10m -run '$(simulations)' ./internal/jobstore
	go test -vet=off -timeout=10m -run '$(simulations)' ./internal/nodeclock -args -rapid.checks=1000

##@ Longer checks
.PHONY: soak fuzz flake mutants proof proof-deep bench faults figures engines vulnerabilities

soak: ## play many more random plans of faults, for locks, elections, the model and state machine of jobs, clocks, zones
	go test -count=1 -timeout=2h -v -run '$(simulations)' ./redlock -args -plans=5000
	go test -count=1 -timeout=2h -run TestConformance ./redlock -args -conformance.rounds=400
	go test -count=1 -timeout=2h -v -run '$(simulations)' ./election -args -rapid.checks=2000
	go test -count=1 -timeout=2h -run 'TestOnLeader_|TestShutdown_' ./election -args -election.rounds=20
	go test -count=1 -timeout=2h -v -run '$(simulations)' ./internal/jobstore -args -jobstore.deep
	go test -count=1 -timeout=2h -run '$(simulations)' ./internal/jobmachine -args -jobmachine.events=5000000
	go test -count=1 -timeout=2h -v -run '$(simulations)' ./scheduler -args -skew.ticks=1000 -removed.plans=300 -setback.plans=500 -setback.verbs=1000
	go test -count=1 -timeout=2h -run TestTick_Thousand ./scheduler -args -thousand.jobs=2000
	go test -count=1 -timeout=2h -v -run 'TestZone_.*EveryZone' ./internal/cronspec -args -zones.all -zones.step=1
	go test -count=1 -timeout=2h -run '$(simulations)' ./internal/nodeclock -args -rapid.checks=20000
	go -C integration test -race -count=1 -timeout=2h -v -run 'TestTransitions|TestLease_History' . -args -falls=35 -lease.faults=2m
	go -C fenced/sqltest test -count=1 -timeout=2h ./once -args -once.rounds=10

FUZZ ?= 10m
fuzz: ## fuzz each decoder of data from nodes, and the others, for ten minutes; FUZZ=1m for less
	@grep -rHoE '^func Fuzz[A-Za-z]+' --include='*_test.go' . | sort | while IFS=: read -r file name; do \
		echo "fuzz $$file $$name"; \
		(cd "$$(dirname "$$file")" && go test -run '^$$' -fuzz "^$${name#func }$$" -fuzztime $(FUZZ) .) || exit 1; \
	done

flake: ## every integration scenario 20 times, counted; output in flake.txt
	@set -o pipefail; status=0; \
	go -C integration test -count=20 -timeout=90m -v ./... 2>&1 | tee flake.txt || status=$$?; \
	grep -oE '^--- (PASS|FAIL): [^ ]+' flake.txt | sort | uniq -c; exit $$status

mutants: ## break the promises one at a time: a test must fail every time
	go -C internal/testkit/repo run ./mutants

bench: ## measure, compare with redsync, and check requirements
	cd bench && go run .

proof: ## check the specifications in spec with spin: all orders of steps, and each rule removed
	@bash scripts/install.sh spin
	bash spec/check.sh

proof-deep: ## proof, with larger sizes too
	@bash scripts/install.sh spin
	bash spec/check.sh deep

faults: ## this library and others under the same faults, in six minutes; writes the tables of faults/README.md
	@bash scripts/install.sh postgresql
	cd faults && go run . -write README.md

figures: ## run bench, and write the results into the pages
	-cd bench && go run . -record figures/figures.json
	-cd bench && go run . -nodes 1 -only speed,handover,elect,crash,outage,ticks -record figures/figures.json
	go -C $(repo) test -count=1 ./docs -run TestFigures -figures.update

ENGINES ?=
engines: ## integration on Debian's Redis and Valkey, fetched but not installed; ENGINES="..." for others
	@bash scripts/engines.sh $(ENGINES)

VULNDB ?= https://vuln.go.dev
vulnerabilities: ## govulncheck in every module; needs vuln.go.dev
	@set -e; for m in $(modules) tools; do echo "govulncheck $$m"; cd $(CURDIR)/$$m; \
		if [ $$m = tools ]; then what=tool; else what='-test ./...'; fi; $(call tool,govulncheck) -db=$(VULNDB) $$what; done

##@ Writing
.PHONY: fmt tidy pictures release image cluster

fmt: ## gofmt and go fix
	gofmt -w .
	@set -e; for m in $(modules); do (cd $$m && go fix ./...); done

tidy: ## go mod tidy, in the same modules
	@bash scripts/tidy.sh $(tidied)

pictures: ## take the pictures of the dashboard again, into docs
	@bash scripts/install.sh chromium
	go -C $(browser) test -count=1 -run Pictures . -args -pictures $(CURDIR)/docs

release: ## check and tag all modules, and build redlockctl into dist; pushes nothing: make release VERSION=v1.2.3
	@bash scripts/release.sh "$(VERSION)"

cluster: ## the nodes on a cluster of kind, through a rollout, a drain and a killed node; needs docker, kind, kubectl and helm
	@bash scripts/cluster.sh

image: ## a container image of redlockctl, static and without a shell: make image TAG=redlockctl:v1.2.3
	@bash scripts/image.sh $(TAG)
