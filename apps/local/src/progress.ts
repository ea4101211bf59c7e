/** Percent between two lines. */
const LINE_EVERY = 25

/** Returns a function that prints a growing percentage at each quarter, and starts over when it falls. */
export function reportQuarters(label: string, say: (line: string) => void): (percent: number) => void {
  let said = 0
  return percent => {
    const quarter = percent - (percent % LINE_EVERY)
    if (quarter > said) say(`${label}: ${quarter} %`)
    said = quarter
  }
}
