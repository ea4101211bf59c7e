#!/bin/sh
# Waits up to two minutes until the list at this address has a price of BTC: expect-list.sh http://127.0.0.1:3000
set -eu
curl --fail --silent --show-error --max-time 5 --retry 60 --retry-delay 2 --retry-max-time 120 --retry-all-errors \
  "$1/api/v1/kimchi-premium" | grep '"symbol":"BTC"'
