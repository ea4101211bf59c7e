#!/bin/sh
# Copies what compose's Redis holds into a new folder, while it runs: backup.sh /srv/backup
# REDISCLI_AUTH is the operator's password.
set -eu
cd "$(dirname "$0")/.."
target=$1/$(date -u +%Y-%m-%dT%H%M%S)
export REDISCLI_AUTH="${REDISCLI_AUTH:-operator}"
redis() { docker compose exec -T -e REDISCLI_AUTH redis valkey-cli -e --user operator "$@"; }

# A rewrite meanwhile would replace the files that are being copied.
trap 'redis CONFIG SET auto-aof-rewrite-percentage 100 >/dev/null' EXIT
redis CONFIG SET auto-aof-rewrite-percentage 0 >/dev/null
redis BGREWRITEAOF >/dev/null
until redis INFO persistence | grep -q 'aof_rewrite_in_progress:0'; do sleep 1; done
mkdir -p "$1"
docker compose cp redis:/data/appendonlydir "$target.part"
mv "$target.part" "$target"
echo "$target"
