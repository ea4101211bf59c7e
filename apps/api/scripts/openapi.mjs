#!/usr/bin/env node
/** Writes docs/openapi.json from the schemas in code, as built. A test fails while the file is stale. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as errors from '../dist/contract/errors.js'
import * as parameters from '../dist/contract/parameters.js'
import { openApiDocument } from './openapi-document.mjs'

const cwd = join(import.meta.dirname, '../../..')
const file = join(cwd, 'docs/openapi.json')
writeFileSync(file, JSON.stringify(openApiDocument({ ...errors, ...parameters })))
execFileSync(join(cwd, 'node_modules/.bin/biome'), ['format', '--write', file], { cwd, stdio: 'inherit' })
