#!/usr/bin/env bash
# Takes compose's stack to another version, or back, while it serves; in the checkout: deploy/upgrade.sh COMMIT
# Checks the commit out, builds its images, and loads the users. New ingesters and API replicas start beside the old
# ones, which go once all new ones are ready, replicas with a list of the current minute. Redis and the edge have one
# place: where they change, it says for how long nobody answered there.
# Stops at the first failure: what serves goes on, and the same line continues from there. A copy of this file does as
# well. REDISCLI_AUTH is the operator's password, UPGRADE_SECONDS how long a new container may take.
set -euo pipefail

say() { printf -- '-- %s\n' "$*"; }
fail() { printf '%s\n' "$*" >&2 && exit 1; }

# In a container, with its ops port: why it cannot take another's place yet.
is_ready='const [port] = process.argv.slice(1)
const ask = async at => {
  const answer = await fetch(`http://127.0.0.1:${at}`)
  const body = await answer.json()
  if (!answer.ok) throw (body.reasons ?? [body.message]).join("; ")
  return body
}
try {
  await ask(`${port}/ready`)
  const { updated_at } = port === "9464" ? await ask("3000/api/v1/kimchi-premium") : {}
  if (updated_at && Date.now() - new Date(`${updated_at}Z`) > 90_000) throw `its list is of ${updated_at}`
} catch (thrown) {
  console.log(thrown.message ?? thrown)
  process.exitCode = 1
}'

# In a container, with a host and a port: the longest time without an answer there, until the input ends.
silence='import { connect } from "node:net"
import { setTimeout as wait } from "node:timers/promises"
const [host, port] = process.argv.slice(1)
let last = performance.now(), longest = 0, isOver = false
process.stdin.on("end", () => { isOver = true }).resume()
while (!isOver) {
  const answer = await new Promise(done => {
    const socket = connect({ host, port, timeout: 1_000 })
    socket.write("GET /api/v1/kimchi-premium HTTP/1.0\r\n\r\n")
    for (const event of ["data", "error", "timeout", "end"]) socket.once(event, said => done(String(said)) ?? socket.destroy())
  })
  if (/^-|^HTTP\S+ (200|308) /.test(answer)) last = performance.now()
  longest = Math.max(longest, performance.now() - last)
  await wait(100)
}
console.log((longest / 1_000).toFixed(1))'

run_node() { docker exec --interactive "$1" node --input-type=module --eval "${@:2}"; }
services() { docker compose config --services | grep -E "^($1)" || true; }
# Not those of `docker compose run`, as an import is.
containers() {
  for service; do
    docker ps --all --quiet --no-trunc --filter "label=com.docker.compose.project=$project" \
      --filter "label=com.docker.compose.service=$service" --filter label=com.docker.compose.oneoff=False
  done
}
operator() { docker compose exec -T -e REDISCLI_AUTH "$1" valkey-cli -e --user operator "${@:2}"; }

# Users of your own in the checkout stay, and going back the newer ones, which suffice for an older version. What is
# staged is no change of yours.
check_out() {
  local kept='' staged='' code=0
  git diff --cached --quiet -- deploy/redis || staged=yes
  git merge-base --is-ancestor "$1" HEAD && kept=yes staged=yes
  { git diff --quiet -- deploy/redis && [ -z "$(git ls-files --others deploy/redis)" ]; } || kept=yes staged=''
  rm -rf "$work/users" && cp -a deploy/redis "$work/users"
  git restore --staged --worktree deploy/redis && git clean -dfq deploy/redis
  git ls-files --error-unmatch deploy/upgrade.sh >/dev/null 2>&1 || rm -f deploy/upgrade.sh
  git checkout --quiet "$1" -- || kept=yes code=1
  [ -z "$kept" ] || cp -a "$work/users/." deploy/redis
  [ -z "$staged" ] || git add deploy/redis
  [ -e deploy/upgrade.sh ] || cp "$work/upgrade.sh" deploy
  return "$code"
}

until_ready() {
  local id=$1 name why end=$((SECONDS + limit))
  name=$(docker inspect --format '{{slice .Name 1}}' "$id")
  until why=$(run_node "$id" "$is_ready" "$2" 2>&1); do
    [ "$(docker inspect --format '{{.RestartCount}} {{.State.Running}}' "$id")" = '0 true' ] ||
      { docker logs --tail 20 "$id" >&2 && fail "$name ends when it starts"; }
    # These wait for a person.
    case $why in *WRONGPASS* | *NOAUTH* | *NOPERM*) fail "$name: $why" ;; esac
    [ "$SECONDS" -lt "$end" ] || fail "$name is not ready after $limit s: $why"
    sleep 2
  done
}

# Starts containers of this version beside the old ones: the image, its ops port, and the services that have it.
start() {
  local port=$2 image id count options=()
  image=$(docker image inspect --format '{{.Id}}' "kimchi-premium/$1:$VERSION")
  shift 2
  started=$* before=$(containers "$@") old=''
  for service; do
    count=$(docker compose config | sed -n "/^  $service:/,/^  [a-z]/s/^    scale: //p")
    for id in $(containers "$service"); do
      [ "$(docker inspect --format '{{.Image}}' "$id")" = "$image" ] || old+=" $id" count=$((${count:-1} + 1))
    done
    options+=(--scale "$service=${count:-1}")
  done
  docker compose up --detach --no-deps --no-recreate "${options[@]}" "$@"
  for id in $(containers "$@" | grep -vF "$(printf '%s\n' ${old:-none})"); do until_ready "$id" "$port"; done
  started=''
}
retire() {
  for id in $old; do docker rm "$(docker stop "$id")" >/dev/null; done
  say "$*: $VERSION"
}

# What a container is made of and how it is run; the version's name counts for nothing. Compose names the images of
# what a service depends on as well.
made_of() { docker image inspect --format '{{.RootFS.Layers}}' "$1"; }
is_as_before() {
  local id image
  id=$(containers "$1")
  image=$(docker inspect --format '{{.Config.Image}}' "$id")
  [ "$1 $(docker inspect --format '{{index .Config.Labels "com.docker.compose.config-hash"}}' "$id")" = \
    "$(VERSION=${image##*:} docker compose config --hash "$1")" ] &&
    [ "$(made_of "$image")" = "$(made_of "$(docker compose config --images "$1" | grep -F "${image%:*}:")")" ]
}

# Gives a service with one place, and this port, a new container where it changes.
swap() {
  local watching
  is_as_before "$1" && say "$1: as before" && return
  [ "$1" != edge ] || try_edge
  say "$1: changes; nobody answers there for a moment"
  mkfifo "$work/$1"
  run_node "$(containers api | head -n 1)" "$silence" "$1" "$2" <"$work/$1" >"$work/seconds" & watching=$!
  exec 3>"$work/$1"
  docker compose up --detach --no-deps --wait "$1"
  sleep 1
  exec 3>&-
  wait "$watching"
  say "$1: $VERSION, without an answer for $(cat "$work/seconds") s"
}

# A new edge without the port, to see that it serves.
try_edge() {
  local end=$((SECONDS + limit))
  trial=$project-edge-trial
  docker compose run --detach --no-deps --name "$trial" edge >/dev/null
  until docker exec "$trial" curl -fsSkL --connect-to 127.0.0.1:443:127.0.0.1:8443 -o /dev/null \
    http://127.0.0.1:8080/api/v1/kimchi-premium 2>"$work/why"; do
    [ "$SECONDS" -lt "$end" ] && [ "$(docker inspect --format '{{.State.Running}}' "$trial")" = true ] ||
      { docker logs --tail 20 "$trial" >&2 && fail "the new edge does not serve: $(cat "$work/why")"; }
    sleep 1
  done
  docker rm --force "$trial" >/dev/null
  trial=''
}

finish() {
  local code=$?
  trap - EXIT
  if [ "$code" != 0 ]; then
    docker rm --force $trial $(containers $started | grep -vF "${before:-none}") >/dev/null 2>&1 || true
    check_out "$from" || true
    say "STOPPED. What serves goes on, and the checkout is at $from again. Mend what is said above, then run"
    say "deploy/upgrade.sh $VERSION; or deploy/upgrade.sh $from, which takes back what was replaced."
  fi
  rm -rf "$work"
  exit "$code"
}

main() {
  local target server is_back=''
  cd "$(git rev-parse --show-toplevel)"
  target=$(git rev-parse --verify --quiet "${1:?the commit to go to}^{commit}") || fail "$1 is no commit here: git fetch"
  from=$(git symbolic-ref --quiet --short HEAD || git rev-parse --short HEAD)
  export VERSION REDISCLI_AUTH="${REDISCLI_AUTH:-operator}"
  VERSION=$(git rev-parse --short "$target") limit=${UPGRADE_SECONDS:-300} started='' before='' trial=''
  [ "$target" = "$(git rev-parse HEAD)" ] || ! git merge-base --is-ancestor "$target" HEAD || is_back=yes
  project=$(docker compose config | sed -n 's/^name: //p')
  work=$(mktemp -d)
  cp "$0" "$work/upgrade.sh"
  trap finish EXIT
  for server in $(services redis); do operator "$server" PING >/dev/null || fail "$server does not answer the operator"; done
  say "checks out $VERSION and builds its images"
  check_out "$target"
  if [ -n "$is_back" ] && docker image inspect $(docker compose config --images | grep ^kimchi-premium/) >/dev/null 2>&1
  then say 'they are here from before'; else docker compose build; fi
  for server in $(services redis); do operator "$server" ACL LOAD >/dev/null; done
  [ -n "$(services redis)" ] || say 'Redis is elsewhere: its users are yours to load'
  start ingester 9465 ingester-a ingester-b
  retire ingester-a ingester-b
  start api 9464 api
  # The newer edge is the one that serves while replicas go: an older one may know less about it.
  [ -n "$is_back" ] || swap edge 8080
  # The edge asks for their names every 2 s.
  [ -z "$old" ] || sleep 5
  retire api
  [ -z "$is_back" ] || swap edge 8080
  # What an older version says about Redis may not suit the users of a newer one.
  if [ -z "$is_back" ]; then
    for server in $(services redis); do swap "$server" 6379; done
    for server in $(services sentinel); do swap "$server" 26379; done
  fi
  touch .env
  grep -q ^VERSION= .env || echo VERSION= >>.env
  sed -i "s/^VERSION=.*/VERSION=$VERSION/" .env
  say "$VERSION runs"
}
# Read as a whole before it is replaced by the checkout.
main "$@"
exit
