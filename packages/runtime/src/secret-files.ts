import { readFileSync } from 'node:fs'
import { KimchiError, messageOf } from '@kimchi/core'

/**
 * An environment in which `NAME` is the text of the file that `NAME_FILE` points at, as container secrets are
 * mounted.
 * @param names variables that may come from a file
 * @throws KimchiError `KIMCHI_ERR_CONFIG` when a file can't be read, or both variables are set
 */
export function withSecretFiles(
  env: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): Record<string, string | undefined> {
  const resolved = { ...env }
  for (const name of names) {
    const file = env[`${name}_FILE`]
    if (!file) continue
    if (env[name]) throw configError(`${name} and ${name}_FILE must not both be set`)
    try {
      resolved[name] = readFileSync(file, 'utf8').trim()
    } catch (thrown) {
      throw configError(
        `${name}_FILE must be a readable file, got: ${JSON.stringify(file)} (${messageOf(thrown)})`,
      )
    }
  }
  return resolved
}

function configError(message: string): KimchiError {
  return new KimchiError('KIMCHI_ERR_CONFIG', message)
}
