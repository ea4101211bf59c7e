#!/bin/sh
# Copies what compose's Redis holds into a new folder, while it runs, and keeps the newest copies, 30 without a number:
# backup.sh /srv/backup 30
# REDISCLI_AUTH is the operator's password.
set -eu
cd "$(dirname "$0")/.."
target=$1/$(date -u +%Y-%m-%dT%H%M%S)
keep=${2:-30}
export REDISCLI_AUTH="${REDISCLI_AUTH:-operator}"
redis() { docker compose exec -T -e REDISCLI_AUTH redis valkey-cli -e --user operator "$@"; }

# A rewrite meanwhile would replace the files that are being copied.
percentage=$(redis CONFIG GET auto-aof-rewrite-percentage | tail -n 1)
trap 'redis CONFIG SET auto-aof-rewrite-percentage "$percentage" >/dev/null' EXIT
redis CONFIG SET auto-aof-rewrite-percentage 0 >/dev/null
redis BGREWRITEAOF >/dev/null
until [ "$(redis INFO persistence | grep -cE 'aof_rewrite_(in_progress|scheduled):0')" = 2 ]; do sleep 1; done
redis INFO persistence | grep -q 'aof_last_bgrewrite_status:ok' || { echo 'Redis could not rewrite its file: see its log' >&2; exit 1; }
mkdir -p "$1"
docker compose cp redis:/data/appendonlydir "$target.part"
mv "$target.part" "$target"
find "$1" -maxdepth 1 -type d -name '????-??-??T??????' | sort | head -n "-$keep" | xargs -r rm -r
echo "$target"
