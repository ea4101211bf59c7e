import { exchange } from './exchange.mjs'
import { load } from './load.mjs'
import { median } from './report.mjs'

/** @typedef {import('./load.mjs').Load} Load */

/** Under load, before anything is measured: what is compiled in stages has to get there. */
export const WARM_UP_S = 3

/**
 * @typedef {object} Contestant
 * @property {string} name
 * @property {string} url
 * @property {Record<string, string>} headers
 * @property {() => readonly (number | undefined)[]} pids whose processor time a request costs
 * @property {boolean} [conditional] asks with the tag that it has; a tag is good for a minute
 * @property {string} [script] for wrk, where a GET of the URL isn't what is asked
 */

/**
 * Loads each contestant in every round, after some seconds each to warm up.
 * @param {readonly Contestant[]} contestants
 * @param {{ rounds: number, seconds: number }} options
 */
export async function measureRounds(contestants, { rounds, seconds }) {
  /** @type {Map<string, Load[]>} */
  const runs = new Map(contestants.map(({ name }) => [name, []]))
  for (const contestant of contestants) await loadOne(contestant, WARM_UP_S)
  for (let round = 0; round < rounds; round++) {
    for (const contestant of shuffled(contestants)) {
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

/**
 * Every round in an order of its own: whoever always came after the same neighbour would be measured with what
 * that one leaves behind.
 * @param {readonly Contestant[]} contestants
 */
function shuffled(contestants) {
  return contestants
    .map(contestant => ({ contestant, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ contestant }) => contestant)
}

/** @param {Contestant} contestant @param {number} seconds */
async function loadOne({ url, headers, pids, conditional = false, script }, seconds) {
  const tag = conditional ? { 'If-None-Match': String((await exchange(url, headers)).headers.etag) } : {}
  return load(url, { seconds, headers: { ...headers, ...tag }, pids: pids(), script })
}
