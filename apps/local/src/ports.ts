import { KimchiError } from '@kimchi/core'
import { freePort, isPortFree } from '@kimchi/local-redis'

/** Which port, and what for. */
export interface PortWish {
  /** What the port is for: the variable that asks for it, or words where none does. */
  readonly name: string
  /** The port that was asked for; 0 asks for any free one. */
  readonly asked?: number | undefined
  /** The default. */
  readonly preferred: number
}

/**
 * The wanted port when it is free. A taken default is replaced by a free port, and that is said.
 * @throws KimchiError `KIMCHI_ERR_CONFIG` when a port that was asked for is taken
 */
export async function pickPort(
  { name, asked, preferred }: PortWish,
  say: (line: string) => void,
): Promise<number> {
  if (asked === 0) return freePort()
  if (asked !== undefined) {
    if (await isPortFree(asked)) return asked
    const message = `${name}=${asked} is taken; end what listens there or choose another`
    throw new KimchiError('KIMCHI_ERR_CONFIG', message)
  }
  if (await isPortFree(preferred)) return preferred
  const port = await freePort()
  say(`Port ${preferred} is taken; using ${port} for ${name}.`)
  return port
}
