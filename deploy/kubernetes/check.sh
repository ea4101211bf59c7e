#!/usr/bin/env bash
# What .ci/engine does on an engine, on the cluster that KUBECONFIG names: the service on simulated prices, replaced and
# killed under load. The arguments hand the cluster an image: check.sh kind load docker-image
# Its name server should keep answers for as long as yours: CoreDNS' own Corefile says 30 s. CONVERT may name a filter that
# writes the manifests anew for a cluster older than 1.30, NPMRC settings of npm.
set -euo pipefail
cd "$(dirname "$0")/../.."
images=registry.invalid/kimchi-premium version=1.1.0
kube() { kubectl --namespace kimchi-premium "$@"; }
export -f kube
step() { printf -- '-- %d s: %s\n' "$SECONDS" "$*"; }
bin=$(mktemp -d) PATH=$bin:$PATH
printf '#!/bin/bash\nkube exec redis-0 -- env REDISCLI_AUTH=operator valkey-cli -e --user operator "$@"\n' |
  install -m 755 /dev/stdin "$bin/redis-cli"
contents() { redis-cli EVAL "$(cat .ci/contents.lua)" 0 none; }
settled() { for part; do kube rollout status --timeout 300s "$part"; done; }
pods() { kube get pod --selector "app.kubernetes.io/name=$1" --sort-by .metadata.creationTimestamp --output "$2"; }
# The newest, because a rollout is over before its old pods are.
kill_one() {
  local end=$((SECONDS + 300))
  kube delete --force --grace-period 0 "$(pods "$1" name | tail -n 1)"
  until [ "$(pods "$1" 'jsonpath={.items[*].status.containerStatuses[*].ready}')" = 'true true' ]; do
    sleep 1; [ $SECONDS -lt $end ]
  done
}
under_load() { node deploy/load.mjs "$url/api/v1/kimchi-premium" bash -euc "$*"; }
runbook() { sed -nE "$1" docs/operations.md | sort -u | grep .; }
export -f settled pods kill_one
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$bin"' EXIT
step images
for name in edge api ingester simulator; do
  docker build --quiet ${NPMRC:+--secret "id=npmrc,src=$NPMRC"} --build-arg "REVISION=$(git rev-parse --short HEAD)" \
    --target "$name" --tag "$images/$name:$version" .
  "$@" "$images/$name:$version"
done
step start
kubectl create namespace kimchi-premium
kube create secret generic redis-access --from-file=deploy/redis
kubectl kustomize deploy/kubernetes/demo | ${CONVERT:-cat} | kubectl apply -f -
settled statefulset/redis deployment/{simulator,ingester,api,edge}
node=$(kubectl get nodes -o jsonpath='{.items[0].status.addresses[?(@.type=="InternalIP")].address}')
url=http://$node:$(kube get service edge -o jsonpath='{.spec.ports[0].nodePort}')
curl -fsS --max-time 5 --retry 60 --retry-delay 2 --retry-all-errors "$url/api/v1/kimchi-premium" | grep -q '"symbol":"BTC"'
# Of a replica, what nobody has asked for is not in memory while Redis is away.
curl -fsS "$url/api/v1/kimchi-premium/BTC/daily?days=[1-20]" >/dev/null

step 'the commands of the runbooks'
eval "$(sed -n '/^kubectl config set-context/p; /^next=/,/^done/p' docs/operations.md)" >/dev/null
export EDGE EDGE_OPS API_OPS INGESTER_OPS
curl -s --retry 60 --retry-delay 1 --retry-all-errors "$EDGE/" "$EDGE_OPS/" "$API_OPS/" "$INGESTER_OPS/" >/dev/null
looking=$(runbook '/^redis-cli |^curl .*\$(EDGE|API|INGESTER)/p') importing=$(runbook '/^kubectl .*import-main/p')
asking=$(runbook '/^kubectl .*--askpass$/p') setting=$(runbook 's/.*`(kubectl set env [^`]*)`.*/\1/p')
bash -euxc "$looking" >/dev/null
printf 'operator\nPING\n' | bash -euxc "$asking" | grep PONG
# One day more than the ingesters fill: 365 take hours.
bash -euxc "${importing/--days 365/--days 9 --coins BTC}" | grep 'History is complete'

step 'rollout of everything'
under_load "$setting; kube rollout restart deployment/{api,edge}; settled deployment/{ingester,api,edge}"
for name in api ingester; do
  step "kill of one $name"
  under_load "kill_one $name"
done
step 'Redis replaced'
kube scale --replicas 0 deployment/ingester
kube wait --for=delete --timeout 300s pod -l app.kubernetes.io/name=ingester
before=$(contents)
under_load 'kube delete pod redis-0; settled statefulset/redis'
after=$(contents)
[ "$before" = "$after" ] || { echo "$before before, $after after"; exit 1; }
kube scale --replicas 2 deployment/ingester
settled deployment/ingester
kube get pods
step "end, with keys and digest $after"
