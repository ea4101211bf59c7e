#!/bin/sh
# Replaces all replicas and edges of the cluster that kubectl reaches, under load; fails when a request does.
set -eu
cd "$(dirname "$0")/../../.."
export namespace=kimchi-premium
node=$(kubectl get nodes -o jsonpath='{.items[0].status.addresses[?(@.type=="InternalIP")].address}')
port=$(kubectl --namespace "$namespace" get service edge -o jsonpath='{.spec.ports[0].nodePort}')
deploy/expect-list.sh "http://$node:$port"
# shellcheck disable=SC2016
node deploy/load.mjs "http://$node:$port/api/v1/kimchi-premium" sh -ec '
  kubectl --namespace "$namespace" rollout restart deployment/api deployment/edge
  for name in api edge; do kubectl --namespace "$namespace" rollout status --timeout 300s "deployment/$name"; done'
