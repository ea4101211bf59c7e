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

/** Picks the stack's ports, and remembers which defaults were taken by other programs. */
export class Ports {
  readonly #taken: number[] = []

  /**
   * The wanted port when it is free; a free one in place of a taken default.
   * @throws KimchiError `KIMCHI_ERR_CONFIG` when a port that was asked for is taken
   */
  async pick({ name, asked, preferred }: PortWish): Promise<number> {
    if (asked === 0) return freePort()
    if (await isPortFree(asked ?? preferred)) return asked ?? preferred
    if (asked !== undefined) {
      const message = `${name}=${asked} is taken; end what listens there or choose another`
      throw new KimchiError('KIMCHI_ERR_CONFIG', message)
    }
    this.#taken.push(preferred)
    return freePort()
  }

  /** One line about the defaults that were taken; undefined when none was. */
  note(): string | undefined {
    const ports = this.#taken
    if (ports.length === 0) return undefined
    const [what, instead] = ports.length === 1 ? ['Port', 'a free one is'] : ['Ports', 'free ones are']
    return `${what} ${ports.join(', ')} taken by other programs: ${instead} used instead.`
  }
}
