#!/usr/bin/env node
/**
 * Writes docs/openapi.json from the schemas in code; with --check it only says whether it is stale. Build
 * first.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import * as errors from '../dist/contract/errors.js'
import * as schemas from '../dist/contract/schemas.js'
import { openApiDocument } from './openapi-document.mjs'

const ROOT = join(import.meta.dirname, '../../..')
const FILE = join(ROOT, 'docs/openapi.json')
const text = JSON.stringify(openApiDocument({ ...errors, ...schemas }))
const shown = relative(process.cwd(), FILE)

if (!process.argv.includes('--check')) {
  writeFileSync(FILE, text)
  execFileSync(join(ROOT, 'node_modules/.bin/biome'), ['format', '--write', FILE], {
    cwd: ROOT,
    stdio: 'ignore',
  })
  process.stdout.write(`Wrote ${shown}\n`)
} else if (read() !== text) {
  process.stderr.write(`${shown} is stale; run: node apps/api/scripts/openapi.mjs\n`)
  process.exitCode = 1
} else {
  process.stdout.write(`${shown} is up to date.\n`)
}

function read() {
  try {
    return JSON.stringify(JSON.parse(readFileSync(FILE, 'utf8')))
  } catch {
    return undefined
  }
}
