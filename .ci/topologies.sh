# shellcheck shell=bash disable=SC2154
# For .ci/engine: a Redis elsewhere, a probe of an address outside, and a primary that is cut off behind Sentinel.
docker compose down --timeout 5
sed -i '/^EDGE_/d' "$settings"
# docker-compose.yml with another file, and the folder that has users and URLs.
use() {
  export COMPOSE_FILE=$plain:$1
  echo "REDIS_USERS=$2" >>"$settings"
  docker compose up --detach --wait --wait-timeout 120
  expect_list
}

step 'Redis elsewhere'; mkdir "$work/access"
for user in api ingester; do echo "redis://$user:$user@$outside:$((port + 2))" >"$work/access/$user-url"; done
docker run --detach --name "elsewhere-$$" --network host --user 999:999 --volume "$PWD/deploy/redis:/etc/valkey:ro" \
  --volume "$PWD/deploy/redis-start:/etc/kimchi:ro" "$(grep -o 'docker.io/valkey/valkey:[^ ]*' docker-compose.yml)" \
  /etc/kimchi/start.sh /etc/valkey/users.acl --bind "$outside" --port $((port + 2)) --save '' --dir /tmp >/dev/null
use deploy/external-redis.compose.yml "$work/access"
[ -z "$(docker compose ps --all --quiet redis)" ]

step 'probe of an address outside'; docker compose --profile monitoring up --detach --no-deps --wait blackbox
docker compose exec -T edge curl -fsS \
  "http://blackbox:9115/probe?module=answers&target=http://$outside:$port/api/v1/kimchi-premium" | grep '^probe_success 1'
docker compose --profile monitoring down --timeout 5

# Takes (add) the way from redis-1, sentinel-1 and ingester-a to all others of the servers' network, or gives it back (del).
divide() {
  local here there
  for here in redis-1 sentinel-1 ingester-a; do
    for there in $others; do
      $SUDO nsenter --target "$(docker inspect -f '{{.State.Pid}}' "$(container $here)")" --net ip route "$1" blackhole "$there"
    done
  done
}
newest() { curl -fsS "$url/api/v1/kimchi-premium" | grep -o '"snapshot_at":"[^"]*"' | sort | tail -n 1; }
step 'Sentinel'; use deploy/sentinel.compose.yml ./deploy/sentinel
others=$(for service in redis-2 redis-3 sentinel-2 sentinel-3 ingester-b api; do
  docker inspect -f "{{(index .NetworkSettings.Networks \"kimchi-engine-$$_servers\").IPAddress}}" $(docker compose ps -q $service)
done)
server=redis-2 began_at=$((EPOCHSECONDS / 60))
step 'a primary that is cut off'; divide add; cut_at=$SECONDS known=$(newest)
until [[ $(newest) > $known ]]; do sleep 1; done
echo "cut off for $((SECONDS - cut_at)) s when the list went on, from $known to $(newest)"
docker compose exec -T ingester-a node -e '
  fetch("http://127.0.0.1:9465/ready").then(async r => { console.log(await r.text()); process.exit(r.ok ? 1 : 0) })'
divide del
until expect_whole "$began_at"; do sleep 2; done
until docker compose exec -T ingester-a bash health.sh 9465 /ready; do sleep 1; done
