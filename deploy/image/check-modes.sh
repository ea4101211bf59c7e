#!/bin/sh
# Whether the users of containers can read what Docker Compose mounts: a checkout under umask 077 or 027 is its owner's.
set -eu
closed=$(find deploy \( -type d ! -perm -o=rx -o -type f ! -perm -o=r -o -name '*.sh' ! -perm -o=x \) | sort)
[ -z "$closed" ] || {
  printf '%s\n' "$closed" "Containers cannot read these files, which Compose mounts. Run: chmod -R go+rX deploy" >&2
  exit 1
}
