#!/bin/sh
# Gives compose's Redis what backup.sh copied, in place of what it has: restore.sh /srv/backup/2026-11-20T030000
# What it had stays in the volume's folder `replaced`, until the next restore. REDISCLI_AUTH is the operator's password.
set -eu
cd "$(dirname "$0")/.."
[ -f "$1/appendonly.aof.manifest" ] || { echo "$1 has no appendonly.aof.manifest" >&2; exit 1; }
docker compose stop ingester-a ingester-b redis
docker compose up --no-start --no-deps redis
redis=$(docker compose ps --all --quiet redis)
image=$(docker inspect --format '{{.Config.Image}}' "$redis")
# The service's own container has no right to change an owner.
in_volume() { docker run --rm --user 0 --volumes-from "$redis" --entrypoint sh "$image" -euc "$1"; }
in_volume 'rm -rf /data/replaced; [ ! -e /data/appendonlydir ] || mv /data/appendonlydir /data/replaced'
docker compose cp "$1" redis:/data/appendonlydir
in_volume 'chown -R 999:999 /data'
docker compose up --detach --no-deps --wait redis
# Where the copy ends within a write, some servers would run the cut half at their second start.
docker compose exec -T -e REDISCLI_AUTH="${REDISCLI_AUTH:-operator}" redis valkey-cli -e --user operator BGREWRITEAOF
docker compose start ingester-a ingester-b
