import { readFileSync } from 'node:fs'
import { KimchiError, settingError } from '@kimchi/core'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * An environment in which `REDIS_URL` is the text of the file that `REDIS_URL_FILE` points at, as container
 * secrets are mounted.
 * @throws KimchiError `KIMCHI_ERR_CONFIG` when the file can't be read, or both variables are set and differ
 */
export function withSecretFile(env: Environment): Environment {
  const { REDIS_URL_FILE: file, REDIS_URL: url } = env
  if (!file) return env
  const text = readSecret(file)
  if (url && url.trim() !== text)
    throw new KimchiError('KIMCHI_ERR_CONFIG', 'REDIS_URL and the file of REDIS_URL_FILE must not differ')
  return { ...env, REDIS_URL: text }
}

function readSecret(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (thrown) {
    throw settingError('REDIS_URL_FILE', 'a readable file', JSON.stringify(file), thrown)
  }
}
