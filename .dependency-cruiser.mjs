/**
 * The import rules of docs/architecture.md#workspaces. Type-only imports count: a circle of types is a circle to a
 * reader.
 */

/** A workspace by its sources, its built files, and its name where it isn't built yet. */
const workspace = (...names) => names.map(name => `^(packages/${name}|@kimchi/${name})(/|$)`)

const OURS = ['^packages/', '^apps/', '^e2e/', '^@kimchi/']
const PRODUCTION = '^(packages|apps)/[^/]+/src/'
/** Workspaces that production doesn't know: they run servers, play exchanges, or drive tests. */
const SCAFFOLDING = ['local-redis', 'simulator', 'testkit']

/** Each third-party package, with the files that may import it: the fewer, the easier it is to replace. */
const THIRD_PARTIES = {
  '@fastify/[^/]+': ['^apps/api/src/http/'],
  ccxt: ['^packages/feeds/src/rest/'],
  'cli-progress': ['^apps/ingester/src/backfill/import-cli\\.ts$'],
  'es-hangul': ['^apps/page/src/table/rows\\.ts$'],
  fastify: ['^apps/api/src/http/'],
  httpxy: ['^apps/local/src/page-server\\.ts$'],
  ioredis: ['^packages/store/src/redis/', '^packages/testkit/src/redis\\.ts$'],
  'lightweight-charts': ['^apps/page/src/coin/draw-chart\\.ts$'],
  msgpackr: ['^packages/store/src/codec\\.ts$'],
  'p-limit': ['^apps/api/src/documents/'],
  pino: ['^packages/runtime/src/logger\\.ts$'],
  'playwright-core': ['^packages/testkit/src/chromium\\.ts$'],
  'prom-client': ['^packages/runtime/src/metrics-registry\\.ts$'],
  sirv: ['^apps/local/src/page-server\\.ts$'],
  ws: ['^packages/feeds/src/feed/connection\\.ts$', '^packages/simulator/src/'],
}

const rule = (name, from, to) => ({ name, severity: 'error', from, to })

export default {
  forbidden: [
    rule('no-circles', {}, { circular: true }),
    ...['core', 'simulator'].map(name =>
      rule(
        `${name}-imports-nothing-of-ours`,
        { path: `^packages/${name}/src/` },
        { path: OURS, pathNot: `^packages/${name}/src/` },
      ),
    ),
    rule('feeds-never-meet-store', { path: '^packages/feeds/src/' }, { path: workspace('store') }),
    rule('store-never-meets-feeds', { path: '^packages/store/src/' }, { path: workspace('feeds') }),
    rule(
      'documents-know-no-http',
      { path: '^apps/api/src/documents/' },
      { path: '^apps/api/src/http/', reachable: true },
    ),
    rule(
      'apps-never-import-each-other',
      { path: '^apps/([^/]+)/' },
      { path: '^(apps|@kimchi)/(api|ingester|local|page)(/|$)', pathNot: '^apps/$1/' },
    ),
    rule(
      'production-knows-no-scaffolding',
      { path: PRODUCTION, pathNot: [`^packages/(${SCAFFOLDING.join('|')})/`, '^apps/local/'] },
      { path: workspace(...SCAFFOLDING) },
    ),
    rule('sources-import-no-tests', { path: '/src/' }, { path: '/test/' }),
    ...Object.entries(THIRD_PARTIES).map(([name, files]) =>
      rule(
        `${name}-has-few-importers`,
        { path: PRODUCTION, pathNot: files },
        { path: `node_modules/${name}/` },
      ),
    ),
  ],
  options: {
    // TypeScript 7 has no API for other tools to parse with.
    parser: 'swc',
    doNotFollow: { path: ['node_modules', '/dist/'] },
    // It parses TypeScript, but not with markup in it: what the page's views import isn't looked at.
    exclude: { path: ['/dist/.*\\.d\\.ts$', '/.tap/', '\\.tsx$'] },
    includeOnly: {
      path: ['^packages/', '^apps/', '^e2e/', '^scripts/', '^bench/', 'node_modules', '^@kimchi/'],
    },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'default'] },
  },
}
