import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Measures how fast a real backfill fills an empty Redis. */
export async function backfill(): Promise<void> {
  const program = fileURLToPath(new URL('../backfill.mjs', import.meta.url))
  execFileSync(process.execPath, [program], { stdio: 'inherit' })
}
