#!/bin/sh
# Puts what one workspace needs to run, and nothing else, into a folder: assemble.sh @kimchi/api /out
# Run where everything is installed and built.
set -eu

workspace=$1
out=$2
root=$(pwd)

npx turbo prune "$workspace" --production --use-gitignore=false --out-dir="$out"
cd "$out"
# The workspaces that only tests use are not there.
for manifest in package.json apps/*/package.json packages/*/package.json; do
  [ -f "$manifest" ] && npm pkg delete devDependencies --prefix "$(dirname "$manifest")"
done
npm ci --omit=dev
npm sbom --omit=dev --sbom-format=cyclonedx >sbom.cdx.json

# A workspace below packages/ comes without apps/.
mkdir -p apps
# What was only for building. The Lua library stays in src/, where it is read.
find apps packages -type f \( -name '*.ts' -o -name '*.tsbuildinfo' -o -name 'tsconfig.json' -o -name '*.log' \) \
  -not -path '*/node_modules/*' -delete
find . -type d -empty -not -path './node_modules/*' -delete
rm -f turbo.json
cp "$root/deploy/image/health.sh" .
# A checkout under umask 077 is its owner's alone; the app runs as somebody else.
chmod -R go+rX .
