#!/usr/bin/env bash
# Builds the images with buildah and no Docker engine, from bases made of Debian's packages and Node from npm,
# since there may be no image registry either; then runs the API's image and asks it. As root on Debian:
# deploy/image/build.sh [image...]
set -euo pipefail
cd "$(dirname "$0")/../.."

images=("$@")
[ ${#images[@]} -gt 0 ] || images=(api ingester simulator)
node_version=$(sed -n 's/^ARG NODE_IMAGE=.*node:\([0-9.]*\)-.*/\1/p' Dockerfile)
npm_version=$(sed -n 's/.*"packageManager": "npm@\(.*\)".*/\1/p' package.json)
base=localhost/kimchi-premium/node:$node_version
work=$(mktemp -d)
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
store=(--root "$work/storage" --runroot "$work/run")
api_pid=
redis_pid=

finish() {
  for pid in $api_pid $redis_pid; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done || true
  buildah "${store[@]}" unmount --all >/dev/null 2>&1 || true
  buildah "${store[@]}" rm --all >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap finish EXIT

tools() {
  for tool in buildah mmdebstrap curl redis-server; do command -v $tool >/dev/null || return 1; done
}
tools || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
  buildah mmdebstrap curl ca-certificates redis-server >/dev/null; }

make_base() {
  echo "== base: Debian's packages, Node $node_version and npm $npm_version from npm"
  local rootfs=$work/rootfs
  mmdebstrap --quiet --variant=essential --include=libstdc++6,libatomic1,ca-certificates \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$rootfs"
  local prefix=$work/node
  npm install --prefix "$prefix" --no-save --no-audit --no-fund --ignore-scripts \
    "node-linux-$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')@$node_version" "npm@$npm_version" >/dev/null
  cp "$prefix"/node_modules/node-linux-*/bin/node "$rootfs/usr/bin/node"
  mkdir -p "$rootfs/usr/lib/node_modules"
  cp -r "$prefix/node_modules/npm" "$rootfs/usr/lib/node_modules/npm"
  for name in npm npx; do ln -s "../lib/node_modules/npm/bin/$name-cli.js" "$rootfs/usr/bin/$name"; done
  local container
  container=$(buildah "${store[@]}" from scratch)
  buildah "${store[@]}" add --quiet "$container" "$rootfs" /
  buildah "${store[@]}" config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
  buildah "${store[@]}" commit --quiet --rm "$container" "$base"
  rm -rf "$rootfs" "$prefix"
}

build() {
  echo "== image: $1"
  # The machine's own certificates and npm settings, for as long as the build runs.
  npm config get cafile --location=global | sed -n 's/^\//cafile=\//p' >"$work/npmrc"
  buildah "${store[@]}" build --format docker --layers --target "$1" --tag "localhost/kimchi-premium/$1" \
    --build-arg NODE_IMAGE="$base" --build-arg REVISION="$(git rev-parse HEAD 2>/dev/null || echo unknown)" \
    --secret id=npmrc,src="$work/npmrc" --volume /etc/ssl/certs:/etc/ssl/certs:ro . >"$work/$1.log" 2>&1 ||
    { tail -40 "$work/$1.log"; return 1; }
}

# One line an image: what it holds over its base.
measure() {
  local container mount
  container=$(buildah "${store[@]}" from "localhost/kimchi-premium/$1")
  mount=$(buildah "${store[@]}" mount "$container")
  printf '%-10s base %s MB, app %s MB of which dependencies %s MB, packages listed in its SBOM: %s\n' "$1" \
    "$(du -sm --exclude=app "$mount" | cut -f1)" "$(du -sm "$mount/app" | cut -f1)" \
    "$(du -sm "$mount/app/node_modules" | cut -f1)" "$(grep -c '"purl"' "$mount/app/sbom.cdx.json")"
  test -z "$(find "$mount/app" -not -user root -print -quit)" || { echo "$1: not everything belongs to root"; return 1; }
  test -z "$(find "$mount/app" -path '*test*' -name '*.test.*' -not -path '*/node_modules/*' -print -quit)"
  buildah "${store[@]}" rm "$container" >/dev/null
}

# As its user, in its own file system: writes nothing there, lives without Redis, answers when there is one.
run_api() {
  echo '== the API of the image'
  local container redis_port=16379 port=13000 ops_port=19464
  container=$(buildah "${store[@]}" from localhost/kimchi-premium/api)
  redis-server --port $redis_port --bind 127.0.0.1 --save '' --dir "$work" --logfile "$work/redis.log" &
  redis_pid=$!
  buildah "${store[@]}" run --env REDIS_URL=redis://127.0.0.1:$redis_port --env HOST=127.0.0.1 --env PORT=$port \
    --env OPS_HOST=127.0.0.1 --env OPS_PORT=$ops_port "$container" -- \
    node --enable-source-maps apps/api/dist/main.js >"$work/api.log" 2>&1 &
  api_pid=$!
  for _ in $(seq 100); do
    curl -fs -o /dev/null http://127.0.0.1:$ops_port/live && break
    sleep 0.2
  done
  buildah "${store[@]}" run --env OPS_PORT=$ops_port "$container" -- node health.mjs $ops_port && echo 'health check: alive'
  buildah "${store[@]}" run "$container" -- node -p '`user ${process.getuid()}, Node ${process.version}`'
  local status
  status=$(curl -s -o "$work/answer" -w '%{http_code}' http://127.0.0.1:$port/api/v1/kimchi-premium)
  echo "GET /api/v1/kimchi-premium: $status $(cat "$work/answer")"
  [ "$status" = 503 ] && grep -q '"result":"error"' "$work/answer"
}

make_base
for image in "${images[@]}"; do build "$image"; done
for image in "${images[@]}"; do measure "$image"; done
case " ${images[*]} " in *' api '*) run_api ;; esac
