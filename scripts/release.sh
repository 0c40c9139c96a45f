#!/usr/bin/env bash
# Builds redlockctl for each platform, writes for each binary an SBOM (SPDX) of the modules that are linked into it, and the
# checksums of all. The same commit and the same Go make the same files.
# Usage: release.sh VERSION [FOLDER [OS/ARCH...]]
set -euo pipefail

version=${1:-}
[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || { echo "release: VERSION must be like v1.2.3, not \"$version\"" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "${2:-$root/dist}"
out=$(cd "${2:-$root/dist}" && pwd)
platforms=("${@:3}")
[ ${#platforms[@]} -gt 0 ] || platforms=(linux/amd64 linux/arm64 darwin/amd64 darwin/arm64)

files=()
for platform in "${platforms[@]}"; do
	name=redlockctl_${version}_${platform/\//_}
	CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/} \
		go -C "$root/cmd/redlockctl" build -trimpath -ldflags="-s -w -X main.version=$version" -o "$out/$name" .
	go -C "$root/internal/testkit/repo" run ./sbom -version "$version" "$out/$name" >"$out/$name.spdx.json"
	files+=("$name" "$name.spdx.json")
done
cd "$out"
if command -v sha256sum >/dev/null; then sha256sum "${files[@]}"; else shasum -a 256 "${files[@]}"; fi >SHA256SUMS
echo "release: ${#files[@]} files and SHA256SUMS in $out"
