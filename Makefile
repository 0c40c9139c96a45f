# Plain `make` lists the targets. Go, make and git are enough to start: `make test` installs the rest.

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
# The file of a tool. Run it directly, because go tool -modfile refuses to work where there is a go.work.
tool = "$$(GOWORK=off go tool -modfile=$(CURDIR)/tools/go.mod -n $(1))"

##@ Everything
.PHONY: help test install

help: ## list the targets
	@awk -F ':.*## ' '/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

test: ## all checks, about 25 minutes on two cores; with CI=true test-browser too
	+@MAKE="$(MAKE)" bash scripts/steps.sh install vet lint repo unit simulation integration nested $(if $(CI),test-browser)

install: ## install redis-server, redis-cli, prometheus, PostgreSQL, MariaDB and a C compiler (for -race), if missing
	@bash scripts/install.sh

##@ One check at a time
.PHONY: vet lint repo unit simulation integration nested test-browser

vet: ## go vet, in every module
	@set -e; for m in $(modules); do echo "vet $$m"; go -C $$m vet ./...; done

lint: ## check formatting and tidy go.mod; staticcheck, errcheck, errorlint, go fix
	@test -z "$$(gofmt -l .)" || { gofmt -d .; echo 'lint: not formatted, run make fmt' >&2; exit 1; }
	@bash scripts/tidy.sh -diff $(tidied)
	@set -e; for m in $(modules); do echo "lint $$m"; cd $(CURDIR)/$$m; \
		$(call tool,staticcheck) ./...; \
		$(call tool,errcheck) -exclude=$(CURDIR)/tools/errcheck.txt ./...; \
		$(call tool,go-errorlint) ./...; \
		go fix -diff ./...; \
	done

repo: ## check imports, the length of files, documents, copied examples, a release, and whether the mutants still apply
	go -C $(repo) test -count=1 -timeout=20m ./...

unit: ## the tests of the library's module, with -race
	go test -race -timeout=15m ./...

simulation: ## random plans and long series; under the race detector, unit plays only a few of them
	go test -count=1 -timeout=5m -v -run 'TestSimulation|TestConformance/Tokens|TestAcquire_ReleaseBeside' ./redlock
	go test -count=1 -timeout=10m -run 'TestPlans|TestFence|TestLife|TestOnLeader_(No|Registered)' ./election
	go test -count=1 -timeout=10m -run 'TestSkew|TestTick_Thousand|TestAdmission|TestZone_.*EveryZone' ./scheduler
	go test -count=1 -timeout=10m -run 'TestStop_' ./internal/clock

integration: ## the tests on real redis-server processes
	go -C integration test -race -count=1 -timeout=20m ./...

nested: ## build and test the modules with their own go.mod, two at a time, because their tests mostly wait
	@printf '%s\n' $(filter-out $(browser) $(repo) integration,$(nested)) | xargs -P 2 -I{} sh -c \
		'out=$$(go -C {} build -o /dev/null ./... 2>&1 && go -C {} test -race ./... 2>&1); status=$$?; \
		echo "nested {}"; echo "$$out"; exit $$status'

test-browser: ## test the dashboard in a real Chromium, which is installed if it is missing
	@bash scripts/install.sh chromium
	go -C $(browser) test -race -count=1 -timeout=10m ./...

##@ Longer checks
.PHONY: soak fuzz flake mutants bench figures engines vulnerabilities

soak: ## play many more random plans of faults, for locks, elections, the model and state machine of jobs, clocks, zones
	go test -count=1 -timeout=2h -v -run TestSimulation ./redlock -args -plans=5000
	go test -count=1 -timeout=2h -v -run TestPlans ./election -args -rapid.checks=2000
	go test -count=1 -timeout=2h -v -run TestModel ./internal/jobstore -args -jobstore.deep
	go test -count=1 -timeout=2h -run TestNext_KeepsThePromises ./internal/jobmachine -args -jobmachine.events=5000000
	go test -count=1 -timeout=2h -v -run TestSkew ./scheduler -args -skew.ticks=1000
	go test -count=1 -timeout=2h -v -run 'TestZone_.*EveryZone' ./scheduler -args -zones.all
	go -C integration test -race -count=1 -timeout=2h -v -run 'TestTransitions|TestLease_History' . -args -falls=35 -lease.faults=2m

FUZZ ?= 10m
fuzz: ## fuzz each decoder of data from nodes, and the others, for ten minutes; FUZZ=1m for less
	@grep -rHoE '^func Fuzz[A-Za-z]+' --include='*_test.go' . | sort | while IFS=: read -r file name; do \
		echo "fuzz $$file $$name"; \
		(cd "$$(dirname "$$file")" && go test -run '^$$' -fuzz "^$${name#func }$$" -fuzztime $(FUZZ) .) || exit 1; \
	done

flake: ## every integration scenario 20 times, counted; output in flake.txt
	@set -o pipefail; status=0; \
	go -C integration test -race -count=20 -timeout=90m -v ./... 2>&1 | tee flake.txt || status=$$?; \
	grep -oE '^--- (PASS|FAIL): [^ ]+' flake.txt | sort | uniq -c; exit $$status

mutants: ## break the promises one at a time: a test must fail every time
	go -C internal/testkit/repo run ./mutants

bench: ## measure, compare with redsync, and check requirements
	cd bench && go run .

figures: ## run bench, and write the results into the pages
	-cd bench && go run . -record ../docs/figures.json
	-cd bench && go run . -nodes 1 -only speed,handover,elect,crash,outage,ticks -record ../docs/figures.json
	go -C $(repo) test -count=1 ./docs -run TestFigures -figures.update

ENGINES ?=
engines: ## integration on Debian's Redis and Valkey, fetched but not installed; ENGINES="..." for others
	@bash scripts/engines.sh $(ENGINES)

VULNDB ?= https://vuln.go.dev
vulnerabilities: ## govulncheck in every module; needs vuln.go.dev
	@set -e; for m in $(modules) tools; do echo "govulncheck $$m"; cd $(CURDIR)/$$m; \
		if [ $$m = tools ]; then what=tool; else what='-test ./...'; fi; $(call tool,govulncheck) -db=$(VULNDB) $$what; done

##@ Writing
.PHONY: fmt tidy pictures release image

fmt: ## gofmt and go fix
	gofmt -w .
	@set -e; for m in $(modules); do (cd $$m && go fix ./...); done

tidy: ## go mod tidy, in every module
	@bash scripts/tidy.sh $(tidied)

pictures: ## take the pictures of the dashboard again, into docs
	@bash scripts/install.sh chromium
	go -C $(browser) test -count=1 -run Pictures . -args -pictures $(CURDIR)/docs

release: ## check and tag all modules, and build redlockctl into dist; pushes nothing: make release VERSION=v1.2.3
	@bash scripts/release.sh "$(VERSION)"

image: ## a container image of redlockctl, static and without a shell: make image TAG=redlockctl:v1.2.3
	@bash scripts/image.sh $(TAG)
