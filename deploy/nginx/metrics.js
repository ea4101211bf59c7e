// The edge's metrics for Prometheus, in nginx's own JavaScript (njs), which has no destructuring.

/** Counts a request when it has been answered, by what locations.conf and the cache made of it. Logs nothing. */
function count(request) {
  const of = request.variables
  const cache = (of.upstream_cache_status || 'none').toLowerCase()
  const labels = `route="${of.route}",status="${of.status}",cache="${cache}"`
  ngx.shared.answered.incr(labels, 1, 0)
  ngx.shared.sent.incr(`route="${of.route}"`, Number(of.bytes_sent), 0)
  return ''
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

/** Answers with all metrics. */
async function write(request) {
  const age = await listAge(request)
  request.headersOut['Content-Type'] = 'text/plain; version=0.0.4'
  request.return(
    200,
    metric('kimchi_edge_list_age_seconds', 'gauge', 'Age of the list that this edge gives its callers now.', [
      ['', age],
    ]) +
      metric(
        'kimchi_edge_requests_total',
        'counter',
        'Requests answered, by route, status and what the cache had.',
        ngx.shared.answered.items(),
      ) +
      metric(
        'kimchi_edge_sent_bytes_total',
        'counter',
        'Bytes sent to callers, by route.',
        ngx.shared.sent.items(),
      ),
  )
}

export default { count, write }
