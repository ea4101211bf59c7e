import { KimchiError } from '@kimchi/core'
import { freePort, isPortFree } from '@kimchi/local-redis'

/** Another stack that starts at the same moment may take the port that was just picked. */
const ATTEMPTS = 3

/** Picks the stack's ports, and remembers which defaults were taken by other programs. */
export class Ports {
  readonly #taken = new Set<number>()

  /**
   * The wanted port if it is free; a free one in place of a taken default.
   * @param name what the port is for: its variable, or words
   * @param fallback the default
   * @param asked the port in the variable; 0 asks for any free one
   * @throws KimchiError `KIMCHI_ERR_CONFIG` when a port that was asked for is taken
   */
  async pick(name: string, fallback: number, asked?: number): Promise<number> {
    if (asked === 0) return freePort()
    if (await isPortFree(asked ?? fallback)) return asked ?? fallback
    if (asked !== undefined) {
      const message = `${name}=${asked} is taken; end what listens there or choose another`
      throw new KimchiError('KIMCHI_ERR_CONFIG', message)
    }
    this.#taken.add(fallback)
    return freePort()
  }

  /** Starts a server on the port that {@link pick} gives, on another one if that was taken meanwhile. */
  async start<T>(name: string, fallback: number, start: (port: number) => Promise<T>, asked?: number) {
    for (let attempt = 1; ; attempt += 1) {
      const port = await this.pick(name, fallback, asked)
      try {
        return await start(port)
      } catch (thrown) {
        const { code, cause } = thrown as { code?: string; cause?: { code?: string } }
        if ((cause?.code ?? code) !== 'EADDRINUSE' || attempt === ATTEMPTS) throw thrown
      }
    }
  }

  /** One line about the defaults that were taken; undefined when none was. */
  note(): string | undefined {
    if (this.#taken.size === 0) return undefined
    return `Taken by other programs, so a free port is used instead: ${[...this.#taken].join(', ')}.`
  }
}
