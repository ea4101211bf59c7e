#!/bin/sh
# Prints deploy/prometheus/rules.yml as the Prometheus operator has it:
#   deploy/kubernetes/monitoring/rules.sh | kubectl apply -f -
set -eu
cat <<'END'
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: kimchi-premium
  namespace: kimchi-premium
spec:
END
sed -n '/^groups:/,$s/^./  &/p' "${0%/*}/../../prometheus/rules.yml"
