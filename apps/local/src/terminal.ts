/** The part of a writable stream that is used. */
export interface Output {
  readonly isTTY?: boolean
  write(text: string): unknown
}

/** Calm lines on a stream, with one progress bar below them while a person watches. */
export interface Terminal {
  say(line: string): void
  /** Shows progress; 100 percent ends the bar. */
  progress(label: string, percent: number): void
}

const BAR_WIDTH = 40
/** Percent between two lines when the output is not a terminal. */
const LINE_EVERY = 25

/** A {@link Terminal} on this stream. */
export function createTerminal(output: Output): Terminal {
  let bar = ''
  let lastLine = 0
  const cleared = () => (bar === '' ? '' : '\r\u001b[K')
  const say = (line: string) => output.write(`${cleared()}${line}\n${bar}`)

  function sayProgress(label: string, percent: number): void {
    if (percent < lastLine) lastLine = 0
    if (percent < lastLine + LINE_EVERY) return
    lastLine = percent - (percent % LINE_EVERY)
    say(`${label}: ${percent} %`)
  }

  function draw(label: string, percent: number): void {
    const before = cleared()
    const done = Math.round((BAR_WIDTH * percent) / 100)
    bar = percent < 100 ? `${label} ${'█'.repeat(done)}${'░'.repeat(BAR_WIDTH - done)} ${percent} %` : ''
    output.write(percent < 100 ? `${before}${bar}` : `${before}${label}: complete\n`)
  }

  return {
    say,
    progress: (label, percent) => (output.isTTY ? draw : sayProgress)(label, percent),
  }
}
