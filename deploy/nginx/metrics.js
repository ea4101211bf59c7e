// The edge's metrics for Prometheus, in nginx's own JavaScript (njs), which has no destructuring.

/** The codes of locations.conf. Each starts at 0, or Prometheus would not see the first of a kind as an increase. */
const CODES = ['bad_request', 'method_not_allowed', 'headers_too_large', 'too_many_requests', 'unavailable']

/** Counts one of the edge's own refusals by its code: the location that holds its body is /-/code. */
function count(request) {
  ngx.shared.refusals.incr(request.uri.slice('/-/'.length), 1, 0)
  return ''
}

function metric(name, type, help, samples) {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${samples.join('')}`
}

/** Answers with all metrics. stub_status prints `Active connections: A`, then a line `accepted handled requests`. */
async function write(request) {
  const status = (await request.subrequest('/status')).responseText
  const connections = status.match(/^Active connections: (\d+)/)[1]
  const requests = status.match(/\n \d+ \d+ (\d+)/)[1]
  const refusals = CODES.map(
    code => `kimchi_edge_refusals_total{code="${code}"} ${ngx.shared.refusals.get(code) || 0}\n`,
  )
  request.headersOut['Content-Type'] = 'text/plain; version=0.0.4'
  request.return(
    200,
    metric('kimchi_edge_connections', 'gauge', 'Open connections, to the ops port too.', [
      `kimchi_edge_connections ${connections}\n`,
    ]) +
      metric('kimchi_edge_requests_total', 'counter', 'Requests, to the ops port too.', [
        `kimchi_edge_requests_total ${requests}\n`,
      ]) +
      metric(
        'kimchi_edge_refusals_total',
        'counter',
        'Requests that the edge itself refused, by code.',
        refusals,
      ),
  )
}

export default { count, write }
