#!/usr/bin/env bash
# Builds an image of redlockctl for one platform, with BUILDER, or with the first of docker, podman and buildah that
# exists.
#
#   image.sh [TAG [OS/ARCH]]                      redlockctl:dev and linux/amd64, unless you name others
#   image.sh context FOLDER [OS/ARCH [VERSION]]   only puts its files into a folder
#
# "redlockctl --version" prints the part of TAG after the last colon.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)

# context puts the files of the image into a folder.
context() {
	local folder=$1 platform=$2 version=$3 authorities
	for authorities in "${SSL_CERT_FILE:-}" /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem; do
		[ ! -s "$authorities" ] || break
	done
	[ -s "$authorities" ] || { echo 'image: found no CA file, set SSL_CERT_FILE' >&2; return 1; }
	mkdir -p "$folder"
	cp "$authorities" "$folder/ca-certificates.crt"
	cp "$root/cmd/redlockctl/Containerfile" "$folder/Containerfile"
	CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/} \
		go -C "$root/cmd/redlockctl" build -trimpath -ldflags="-s -w -X main.version=$version" -o "$folder/redlockctl" .
	chmod 755 "$folder/redlockctl"
	chmod 644 "$folder/ca-certificates.crt"
}

if [ "${1:-}" = context ]; then
	mkdir -p "${2:?a folder is needed}"
	context "$(cd "$2" && pwd)" "${3:-linux/amd64}" "${4:-dev}"
	exit
fi
tag=${1:-redlockctl:dev} platform=${2:-linux/amd64}
builder=$(command -v "${BUILDER:-docker}" || command -v podman || command -v buildah) || { echo 'image: found neither docker, podman nor buildah' >&2; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
version=${tag##*:}
case $version in */*) version=dev ;; esac # TAG has no version: this is the port of a registry
context "$folder" "$platform" "$version"
"$builder" build --platform "$platform" -t "$tag" -f "$folder/Containerfile" "$folder"
