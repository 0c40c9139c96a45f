#!/usr/bin/env bash
# Releases all modules with one version, in steps. A step that is done already does nothing.
#
#   release.sh VERSION [STEP]
#
#   check      the tree is clean and tidy, and the changelog has an entry
#   vet        the linters and govulncheck in every module
#   api        [MODULE...] compares the exported names with those of the last release, using apidiff
#   root       tags the library's module
#   modules    makes the other modules require that tag, commits this, and tags them
#   verify     fetches the tags as a user would: builds a program with each module, and installs redlockctl
#   binaries   [FOLDER [OS/ARCH...]] builds redlockctl for each platform, each with an SBOM (SPDX), and checksums of all
#
# Without a step it runs all of them, and prints the command that publishes the tags. It pushes nothing.
# CONTRIBUTING.md says which modules are released and why.
set -euo pipefail

library=github.com/redlockfx/redlockfx
version=${1:-} step=${2:-all}
[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || { echo "release: VERSION must be like v1.2.3, not \"$version\"" >&2; exit 2; }
unreleased='Until the first release|no release yet|not released yet' # in documents
cd "$(dirname "$0")/.."
root=$PWD
modules=() # the released ones except the library; they have a go.work for development
for file in */go.work */*/go.work */*/*/go.work; do
	[ ! -f "$file" ] || modules+=("${file%/go.work}")
done
work=$(mktemp -d)
trap 'rm -rf "$work"; git worktree prune' EXIT

say() { echo "release: $*"; }
fail() { say "$@" >&2; exit 1; }
tags() { printf '%s\n' "$version" "${modules[@]/%//$version}"; } # the library's first
tagged() { git rev-parse -q --verify "refs/tags/$1^{commit}" || true; }
clean() { [ -z "$(git status --porcelain)" ] || { git status --short >&2; fail "commit these files first"; }; }
tool() { GOWORK=off go tool -modfile="$root/tools/go.mod" -n "$1"; } # prints the file of a tool

check() {
	local module
	clean
	grep -qE "^## \[${version#v}\] - [0-9]{4}-[0-9]{2}-[0-9]{2}$" CHANGELOG.md ||
		fail "CHANGELOG.md has no entry \"## [${version#v}] - YEAR-MONTH-DAY\""
	! git grep -nE "$unreleased" -- '*.md' >&2 || fail "these pages still say that there is no release"
	for module in . "${modules[@]}"; do
		! grep -q '^replace\b' "$module/go.mod" ||
			fail "$module/go.mod has a replace directive: users' builds ignore it, and go install refuses the module"
	done
	bash scripts/tidy.sh -diff . "${modules[@]}"
}

# entry prints the changelog's entry for this version.
entry() { awk -v start="## [${version#v}] " 'index($0, start) == 1 { on = 1; next } /^## |^\[/ { on = 0 } on' CHANGELOG.md; }

# api compares the exported names with those of the last release. Only a new minor version before v1, or a new major version,
# may change or remove some, and the changelog has to say so.
api() {
	local last module apidiff old changes="" compared=("$@")
	[ ${#compared[@]} -gt 0 ] || compared=(. "${modules[@]}")
	last=$(git -c versionsort.suffix=- tag --list 'v*' --sort=-v:refname --merged HEAD | grep -vxF "$version" | head -n 1 || true)
	if [ -z "$last" ]; then
		say "there is no earlier release: apidiff has nothing to compare with"
		return
	fi
	apidiff=$(tool apidiff)
	git worktree add -q --detach "$work/last" "$(tagged "${modules[0]}/$last")"
	for module in "${compared[@]}"; do
		case $module in cmd/*) continue ;; esac # a program exports nothing
		[ -f "$work/last/$module/go.mod" ] || continue
		old=$work/${module//\//-}.api
		{
			(cd "$work/last/$module" && "$apidiff" -m -w "$old" "$(path_of "$module")")
			changes+=$(cd "$module" && "$apidiff" -m -incompatible "$old" "$(path_of "$module")")
		} 2>"$work/errors" || { cat "$work/errors" >&2; fail "apidiff failed in $module"; }
	done
	git worktree remove --force "$work/last"
	say "incompatible changes since $last: ${changes:-none}"
	[ -n "$changes" ] || return 0
	case $version in
	"${last%.*}".*) fail "a patch release must be compatible with $last" ;;
	v0.* | v*.0.0) ;;
	*) fail "a minor release must be compatible with $last" ;;
	esac
	entry | grep -qE '^### (Changed|Removed)$' || fail "the changelog's entry has no section Changed or Removed"
}

path_of() { echo "$library${1:+/$1}" | sed 's|/\.$||'; }

vet() {
	local database=${VULNDB:-https://vuln.go.dev}
	make --no-print-directory lint lintmodules
	if curl -sSfo /dev/null --max-time 20 "$database/index/db.json"; then
		make --no-print-directory vulnerabilities VULNDB="$database"
	else
		say "$database cannot be reached: skipped the check for known vulnerabilities"
	fi
}

tag_root() {
	local commit
	commit=$(tagged "$version")
	if [ -z "$commit" ]; then
		clean
		git tag -a -m "redlockfx $version" "$version"
	elif ! git merge-base --is-ancestor "$commit" HEAD; then
		fail "$version is already the tag of another commit, ${commit:0:12}"
	fi
	say "the library is $version"
}

# fetch downloads tags of this repository as the module proxy would, and sets GOPROXY to three places: a proxy of these
# files, the module cache, and the usual proxy. Later downloads go into a separate cache. All builds then have the flags of
# the binaries, so that each package is compiled once.
fetch() {
	local tag path modules=()
	for tag; do
		path=${tag%"$version"} path=${path%/}
		modules+=("$(path_of "$path")@$version")
	done
	export GONOSUMDB=$library,$library/* GOPRIVATE="" GONOPROXY="" GOWORK=off
	GOFLAGS="$(go env GOFLAGS) -modcacherw -trimpath"
	export GOFLAGS CGO_ENABLED=0
	(
		cd "$work"
		export GIT_ALLOW_PROTOCOL=file GIT_CONFIG_COUNT=1
		export GIT_CONFIG_KEY_0=url.file://$root.insteadOf GIT_CONFIG_VALUE_0=https://$library
		GOPROXY=direct GOMODCACHE=$work/tags go mod download "${modules[@]}"
	)
	GOPROXY=file://$work/tags/cache/download,file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)
	GOMODCACHE=$work/modules
	export GOPROXY GOMODCACHE
}

tag_modules() {
	local module old up commit
	clean
	[ -n "$(tagged "$version")" ] || fail "tag the library first: release.sh $version root"
	commit=$(tagged "${modules[0]}/$version")
	if [ -n "$commit" ]; then
		say "the other modules are $version"
		return
	fi
	(
		fetch "$version"
		for module in "${modules[@]}"; do
			old=$(go mod edit -json "$module/go.mod" | sed -n "\|\"Path\": \"$library\",|{n;s/.*\"Version\": \"\(.*\)\".*/\1/p;}")
			[ -n "$old" ] || fail "$module/go.mod does not require $library"
			up=$(sed 's|[^/]\{1,\}|..|g' <<<"$module")
			go work edit -dropreplace="$library@$old" -replace="$library@$version=$up" "$module/go.work"
			go mod edit -require="$library@$version" "$module/go.mod"
			cp "$module/go.mod" "$work/go.mod"
			go -C "$module" mod tidy
			diff -u "$work/go.mod" "$module/go.mod" || fail "$module/go.mod changed by more than the version of the library"
		done
	)
	# Modules that users do not fetch replace the library with its folder. They still must not require an older version
	# of it than the modules they use do.
	for module in $(git grep -lE "^(require )?\s*$library v" -- '*/go.mod'); do
		go mod edit -require="$library@$version" "$module"
	done
	git commit -q -a -m "The other modules require $version"
	for module in "${modules[@]}"; do
		git tag -a -m "$module $version" "$module/$version"
	done
	say "the other modules are $version"
}

verify() {
	local module path
	(
		# shellcheck disable=SC2046 # tags have no spaces
		fetch $(tags)
		for module in "" "${modules[@]}"; do
			path=$(path_of "$module")
			case $module in
			cmd/*) install_program "$path" ;;
			*) build_consumer "$path" ;;
			esac
		done
	)
}

# install_program installs a program as its README describes.
install_program() {
	local name=${1##*/}
	say "go install $1@$version"
	GOBIN=$work/bin go -C "$work" install "$1@$version"
	"$work/bin/$name" --help >/dev/null
	go version -m "$work/bin/$name" | awk -v version="$version" '$1 == "mod" && $3 == version { ok = 1 } END { exit !ok }' ||
		fail "$name --version does not print $version"
}

# build_consumer builds a program that imports each public package of a module.
build_consumer() {
	local folder
	folder=$(mktemp -d "$work/consumer.XXXXXX")
	say "go get $1@$version"
	cd "$folder"
	go mod init example.org/consumer 2>/dev/null
	go get "$1@$version"
	{
		echo "package main"
		go list -mod=mod -find -f '{{if ne .Name "main"}}{{.Module.Path}} {{.ImportPath}}{{end}}' "$1/..." |
			awk -v module="$1" '$1 == module && $2 !~ /\/(internal|examples)(\/|$)/ { print "import _ \"" $2 "\"" }'
		echo "func main() {}"
	} >main.go
	grep -q '^import' main.go || fail "$1 has no package"
	go mod tidy
	go vet ./...
	go build -o program .
	./program
	go list -m "$library" "$1" | sort -u | awk -v version="$version" '$2 != version { exit 1 }' ||
		fail "a program with $1 gets other versions: $(go list -m all | grep "^$library")"
	cd "$root"
}

# binaries needs the tags, because it links the same versions as go install.
binaries() {
	local out platform platforms=("${@:2}") name files=()
	[ ${#platforms[@]} -gt 0 ] || platforms=(linux/amd64 linux/arm64 darwin/amd64 darwin/arm64)
	clean
	[ "$(tagged "cmd/redlockctl/$version")" = "$(git rev-parse HEAD)" ] || fail "check out cmd/redlockctl/$version first"
	mkdir -p "${1:-dist}"
	out=$(cd "${1:-dist}" && pwd)
	(
		fetch "$version"
		for platform in "${platforms[@]}"; do
			GOOS=${platform%/*} GOARCH=${platform#*/} \
				go -C cmd/redlockctl build -ldflags="-s -w -X main.version=$version" -o "$out/redlockctl_${version}_${platform/\//_}" .
		done
	)
	for platform in "${platforms[@]}"; do
		name=redlockctl_${version}_${platform/\//_}
		go run ./scripts/sbom -version "$version" "$out/$name" >"$out/$name.spdx.json"
		files+=("$name" "$name.spdx.json")
	done
	(
		cd "$out"
		if command -v sha256sum >/dev/null; then sha256sum "${files[@]}"; else shasum -a 256 "${files[@]}"; fi >SHA256SUMS
	)
	say "${#files[@]} files and SHA256SUMS in $out"
}

case $step in
check) check ;;
vet) vet ;;
api) api "${@:3}" ;;
root) tag_root ;;
modules) tag_modules ;;
verify) verify ;;
binaries) binaries "${@:3}" ;;
all)
	check
	vet
	api
	tag_root
	tag_modules
	verify
	binaries
	say "publish with: git push --atomic origin HEAD $(tags | paste -sd' ')"
	;;
*) fail "there is no step \"$step\": check, vet, api, root, modules, verify or binaries" ;;
esac
