import { load } from './load.mjs'
import { median } from './report.mjs'

/** @typedef {import('./load.mjs').Load} Load */

/**
 * @typedef {object} Contestant
 * @property {string} name
 * @property {string} url
 * @property {Record<string, string>} headers
 * @property {() => readonly (number | undefined)[]} pids whose processor time a request costs
 * @property {string} [script] for wrk, where a GET of the URL isn't what is asked
 */

/**
 * Loads each contestant in every round, after one second each to warm up.
 * @param {readonly Contestant[]} contestants
 * @param {{ rounds: number, seconds: number }} options
 */
export async function measureRounds(contestants, { rounds, seconds }) {
  /** @type {Map<string, Load[]>} */
  const runs = new Map(contestants.map(({ name }) => [name, []]))
  for (const contestant of contestants) await loadOne(contestant, 1)
  for (let round = 0; round < rounds; round++) {
    // Every round in another order, so that no contestant always comes first.
    const order = contestants.map((_, index) => contestants[(index + round) % contestants.length])
    for (const contestant of /** @type {Contestant[]} */ (order)) {
      runs.get(contestant.name)?.push(await loadOne(contestant, seconds))
      process.stdout.write('.')
    }
  }
  const all = (/** @type {string} */ name, /** @type {keyof Load} */ field) =>
    (runs.get(name) ?? []).map(run => run[field])
  return {
    all,
    of: (/** @type {string} */ name, /** @type {keyof Load} */ field) => median(all(name, field)),
    /** Ratios within a round, because the machine itself is faster in one round than in another. */
    ratio: (/** @type {string} */ name, /** @type {string} */ base, /** @type {keyof Load} */ field) => {
      const bases = all(base, field)
      return median(all(name, field).map((value, round) => value / Number(bases[round])))
    },
  }
}

/** @param {Contestant} contestant @param {number} seconds */
function loadOne({ url, headers, pids, script }, seconds) {
  return load(url, { seconds, headers, pids: pids(), script })
}
