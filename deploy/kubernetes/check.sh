#!/usr/bin/env bash
# What .ci/engine does on an engine, on the cluster that KUBECONFIG names: the service on simulated prices, replaced and
# killed under load. The arguments hand the cluster an image: check.sh kind load docker-image
# CONVERT may name a filter that writes the manifests anew for a cluster older than 1.30.
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
under_load() { node deploy/load.mjs "$url/api/v1/kimchi-premium" bash -euc "$*"; }
export -f settled
step images
for name in edge api ingester simulator; do
  docker build --quiet --target "$name" --tag "$images/$name:$version" .
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

step 'the commands of the runbooks'
bash -euxc "$(grep '^redis-cli ' docs/operations.md | sort -u)" >/dev/null
for part in edge:8080 edge:8081 api:9464 ingester:9465; do
  kube port-forward "deploy/${part%:*}" "${part#*:}" >/dev/null &
  until curl -s -o /dev/null "http://127.0.0.1:${part#*:}/"; do sleep 0.5; done
done
EDGE=http://127.0.0.1:8080 EDGE_OPS=http://127.0.0.1:8081 API_OPS=http://127.0.0.1:9464 \
  INGESTER_OPS=http://127.0.0.1:9465 bash -euxc "$(grep -E '^curl .*\$(EDGE|API|INGESTER)' docs/operations.md | sort -u)" >/dev/null
# shellcheck disable=SC2046
kill $(jobs -p)

step 'rollout of everything'
under_load 'kube rollout restart deployment/{ingester,api,edge}; settled deployment/{ingester,api,edge}'
for name in api ingester; do
  step "kill of one $name"
  under_load "kube delete --force --grace-period 0 \$(kube get pod -l app.kubernetes.io/name=$name -o name | head -n 1)
    settled deployment/$name"
done
step 'Redis replaced'
kube scale --replicas 0 deployment/ingester
kube wait --for=delete --timeout 60s pod -l app.kubernetes.io/name=ingester
before=$(contents)
under_load 'kube delete pod redis-0; settled statefulset/redis'
after=$(contents)
[ "$before" = "$after" ] || { echo "$before before, $after after"; exit 1; }
kube scale --replicas 2 deployment/ingester
settled deployment/ingester
kube get pods
step "end, with keys and digest $after"
