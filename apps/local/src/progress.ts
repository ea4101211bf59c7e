/** Percent between two lines. */
const LINE_EVERY = 25

/** Says a growing percentage in a few lines: a bar that stands still would tell nothing. */
export class Progress {
  readonly #label: string
  readonly #say: (line: string) => void
  #said = 0

  constructor(label: string, say: (line: string) => void) {
    this.#label = label
    this.#say = say
  }

  /** @param percent lower than before when there is more to do */
  show(percent: number): void {
    const step = percent - (percent % LINE_EVERY)
    if (step > this.#said) this.#say(`${this.#label}: ${step} %`)
    this.#said = step
  }
}
