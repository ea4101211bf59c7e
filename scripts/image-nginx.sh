#!/usr/bin/env bash
# Unpacks Debian testing's nginx, of the branch that the edge's image has, below .cache and prints its folder. It
# runs with libraries of its own; nothing is installed. The tests of the edge need it where the system's nginx is
# older than 1.27.3, which has no `resolve`.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/.cache/image-nginx
if [ ! -x "$folder/nginx" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$folder/root"
  # shellcheck disable=SC2016
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' | grep -v security | head -n 1)
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror testing main" >"$work/sources"
  # Lists and state of its own, so that the system's stay as they are.
  apt=(-qq -o Dir::Etc::SourceList="$work/sources" -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$work/lists"
    -o Dir::Cache="$work/cache" -o Dir::State::Status=/dev/null -o Debug::NoLocking=true -o APT::Sandbox::User=)
  apt-get "${apt[@]}" update >&2
  apt-get "${apt[@]}" install -y --download-only --no-install-recommends nginx libnginx-mod-http-js >&2
  for package in "$work"/cache/archives/*.deb; do dpkg-deb -x "$package" "$folder/root"; done
  libraries=$(dirname "$(find "$folder/root/usr/lib" -name libc.so.6 -print -quit)")
  loader=$(find "$libraries" -name 'ld-linux-*' -print -quit)
  ln -sfn "$folder/root/usr/lib/nginx/modules" "$folder/modules"
  printf '#!/bin/sh\nexec %q --library-path %q %q "$@"\n' "$loader" "$libraries" "$folder/root/usr/sbin/nginx" >"$folder/nginx"
  chmod +x "$folder/nginx"
fi
echo "$folder"
