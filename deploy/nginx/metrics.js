// The edge's metrics for Prometheus, in nginx's own JavaScript (njs), which has no destructuring.
// biome-ignore lint/style/useNodejsImportProtocol: njs knows it by this name
import fs from 'fs'

/**
 * Counts a request when it has been answered, by what locations.conf and the cache made of it; of a hit, read in place
 * of a thousand, the bytes alone. Logs those that reached a replica.
 */
function count(request) {
  const of = request.variables
  const cache = (of.upstream_cache_status || 'none').toLowerCase()
  const isHit = cache === 'hit'
  if (!isHit) ngx.shared.answered.incr(`route="${of.route}",status="${of.status}",cache="${cache}"`, 1, 0)
  ngx.shared.sent.incr(`route="${of.route}"`, Number(of.bytes_sent) * (isHit ? 1000 : 1), 0)
  return of.upstream_addr ? '1' : ''
}

/** Counts a request that is no caller's. Logs nothing. */
function countOwn() {
  ngx.shared.all.incr('own', 1, 0)
  return ''
}

/**
 * How many requests the cache has answered: all that nginx has read, without those that are counted or not answered
 * yet. The figures are not of one instant, so that it may be too few; it never goes back.
 */
async function countHits(request) {
  const text = (await request.subrequest('/stub_status')).responseText
  // active, accepted and handled connections, requests, reading, writing
  const figures = text.match(/\d+/g).map(Number)
  const counted = ngx.shared.answered.items().reduce((sum, item) => sum + item[1], 0)
  const all = ngx.shared.all
  const hits = figures[3] - figures[4] - figures[5] - counted - (all.get('own') || 0)
  all.set('hits', Math.max(hits, all.get('hits') || 0))
  return all.get('hits')
}

function metric(name, type, help, samples) {
  const lines = samples.map(sample => `${name}${sample[0] && `{${sample[0]}}`} ${sample[1]}\n`)
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

/**
 * The age of the list that a caller gets now, in seconds; infinite when there is none. A subrequest would not show
 * it: it may fetch a copy that callers never get.
 */
async function listAge(request) {
  try {
    const list = await ngx.fetch(request.variables.callers_path, { headers: { 'Accept-Encoding': 'br' } })
    const updatedAt = list.ok ? Date.parse(list.headers.get('Last-Modified')) : Number.NaN
    return Number.isNaN(updatedAt) ? '+Inf' : (Date.now() - updatedAt) / 1000
  } catch (_unreachable) {
    return '+Inf'
  }
}

/** Whether the edge can write what it keeps: 1, or 0 when its disk is full. */
function writable() {
  const file = `${ngx.prefix}/writable`
  try {
    fs.writeFileSync(file, ' '.repeat(65536))
    fs.unlinkSync(file)
    return 1
  } catch (_full) {
    return 0
  }
}

/** Answers with all metrics. */
async function write(request) {
  const age = await listAge(request)
  const hits = await countHits(request)
  request.headersOut['Content-Type'] = 'text/plain; version=0.0.4'
  request.return(
    200,
    metric('kimchi_edge_list_age_seconds', 'gauge', 'Age of the list that this edge gives its callers now.', [
      ['', age],
    ]) +
      metric('kimchi_edge_writable', 'gauge', 'Whether copies can be written: 0 when the disk is full.', [
        ['', writable()],
      ]) +
      metric(
        'kimchi_edge_requests_total',
        'counter',
        'Requests answered: hits, and others by route, status and what the cache had.',
        ngx.shared.answered.items().concat([['cache="hit"', hits]]),
      ) +
      metric(
        'kimchi_edge_sent_bytes_total',
        'counter',
        'Bytes sent to callers, by route; those of hits from one in 1,000.',
        ngx.shared.sent.items(),
      ),
  )
}

export default { count, countOwn, write }
