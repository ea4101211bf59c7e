/** Percent between two lines. */
const LINE_EVERY = 25

/** Gives what prints a growing percentage at each quarter; a percentage that falls starts again. */
export function reportQuarters(label: string, say: (line: string) => void): (percent: number) => void {
  let said = 0
  return percent => {
    const quarter = percent - (percent % LINE_EVERY)
    if (quarter > said) say(`${label}: ${quarter} %`)
    said = quarter
  }
}
