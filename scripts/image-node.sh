#!/usr/bin/env bash
# Installs the Node of the images from npm, a package with nothing but the binary, and prints its folder.
set -euo pipefail
cd "$(dirname "$0")/.."
architecture=$(node -p process.arch)
version=$(sed -n 's/^ARG NODE_IMAGE=.*node:\([0-9.]*\)-.*/\1/p' Dockerfile)
folder=$PWD/.cache/image-node
mkdir -p "$folder"
npm install --prefix "$folder" --no-save --no-audit --no-fund --ignore-scripts --silent \
  "node-linux-$architecture@$version" >&2
echo "$folder/node_modules/node-linux-$architecture/bin"
