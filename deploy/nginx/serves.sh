#!/bin/sh
# Whether this edge may take another's place: a replica answers through it, be it that there is no list yet. After three
# minutes without any the edge's own refusals are the best there is.
set -eu
body=$(curl -sS --max-time 2 "${EDGE_LIST:-http://127.0.0.1:8082/api/v1/kimchi-premium}")
case $body in
  # Only the edge says so.
  *'"code":"unavailable"'*) [ $(($(date +%s) - $(stat -c %Y "${EDGE_PREFIX:-/tmp}/conf"))) -gt 180 ] ;;
esac
