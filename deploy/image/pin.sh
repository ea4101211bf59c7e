#!/usr/bin/env bash
# Adds to each image's exact tag the digest that the registry has for it now, or renews it. Needs a registry
# in reach, and skopeo or Docker. Nothing is changed unless every digest was found.
set -euo pipefail
cd "$(dirname "$0")/../.."

files=(Dockerfile docker-compose.yml deploy/kubernetes/base/*.yaml)
images=$(grep -hoE 'docker\.io/[a-z]+/[a-z]+:[0-9][A-Za-z0-9._-]*' "${files[@]}" | sort -u)

digest_of() {
  if command -v skopeo >/dev/null; then skopeo inspect --format '{{.Digest}}' "docker://$1"
  else docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$1"; fi
}

edits=()
for image in $images; do
  digest=$(digest_of "$image")
  [[ $digest =~ ^sha256:[0-9a-f]{64}$ ]] || { echo "no digest for $image: $digest" >&2; exit 1; }
  echo "$image@$digest"
  edits+=(-e "s#${image//./\\.}(@sha256:[0-9a-f]{64})?([[:space:]]|\$)#$image@$digest\\2#")
done
sed -E -i "${edits[@]}" "${files[@]}"
