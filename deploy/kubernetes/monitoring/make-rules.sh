#!/bin/sh
# Makes rules.yaml from deploy/prometheus/rules.yml: kustomize reads no file from outside.
set -eu
cd "$(dirname "$0")"
{
  cat <<'END'
# Made by make-rules.sh from deploy/prometheus/rules.yml.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: kimchi-premium
  namespace: kimchi-premium
spec:
END
  sed -n '/^groups:/,$s/^./  &/p' ../../prometheus/rules.yml
} >rules.yaml
