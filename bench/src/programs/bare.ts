/** Bare node:http: one answer, whatever is asked. The floor that everything else is measured against. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const { port, status, headers, bodyFile } = JSON.parse(process.argv[2] ?? '{}')
const body = bodyFile === undefined ? undefined : readFileSync(bodyFile)

createServer((_request, response) => {
  response.writeHead(status, headers).end(body)
}).listen(port, '127.0.0.1')
