const BAR_WIDTH = 40
/** Percent between two lines where nobody watches. */
const LINE_EVERY = 25

/** Calm lines on a stream, with one progress bar below them while a person watches. */
export class Terminal {
  #stream
  #bar = ''
  #lastLine = 0

  /** @param {NodeJS.WriteStream} stream */
  constructor(stream) {
    this.#stream = stream
  }

  /** @param {string} line */
  say(line) {
    this.#stream.write(`${this.#cleared()}${line}\n${this.#bar}`)
  }

  /** @param {string} label @param {number} percent done; 100 ends the bar */
  progress(label, percent) {
    if (!this.#stream.isTTY) {
      if (percent < this.#lastLine) this.#lastLine = 0
      if (percent < this.#lastLine + LINE_EVERY) return
      this.#lastLine = percent - (percent % LINE_EVERY)
      this.say(`${label}: ${percent} %`)
      return
    }
    const done = Math.round((BAR_WIDTH * percent) / 100)
    const cleared = this.#cleared()
    this.#bar =
      percent < 100 ? `${label} ${'█'.repeat(done)}${'░'.repeat(BAR_WIDTH - done)} ${percent} %` : ''
    this.#stream.write(percent < 100 ? `${cleared}${this.#bar}` : `${cleared}${label}: complete\n`)
  }

  #cleared() {
    return this.#bar === '' ? '' : '\r\u001b[K'
  }
}
