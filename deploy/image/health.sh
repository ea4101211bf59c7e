#!/bin/bash
# Whether the app on this ops port lives: health.sh 9465; health.sh 9465 /ready: whether it contributes. The image has no
# curl, and a busy machine starts no Node within a probe's time.
exec 3<>"/dev/tcp/127.0.0.1/$1" && printf 'GET %s HTTP/1.0\r\n\r\n' "${2:-/live}" >&3 &&
  read -r _ status _ <&3 && [ "$status" = 200 ]
