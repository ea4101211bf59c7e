#!/bin/sh
# Builds the images, hands them to the cluster that kubectl reaches, and starts the service there on simulated prices:
# up.sh kind load docker-image
set -eu
cd "$(dirname "$0")/../../.."
namespace=kimchi-premium
for image in edge api ingester simulator; do
  docker build --target "$image" --tag "$namespace/$image:1.1.0" .
  "$@" "$namespace/$image:1.1.0"
done
kubectl create namespace "$namespace"
kubectl --namespace "$namespace" create secret generic redis-access --from-file=deploy/redis/users.acl \
  --from-literal=api-url=redis://api:api@redis:6379 --from-literal=ingester-url=redis://ingester:ingester@redis:6379
kubectl apply -k deploy/kubernetes/demo
for workload in statefulset/redis deployment/simulator deployment/api deployment/edge; do
  kubectl --namespace "$namespace" rollout status --timeout 300s "$workload"
done
