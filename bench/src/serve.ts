import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createFolder, type Teardown } from '@kimchi/testkit'
import { compare, type Scenario, type Service } from './lib/compare-servers.ts'
import { ownHeaders } from './lib/nginx.ts'
import { type Server, startContestant } from './lib/servers.ts'

const BARE = 'bare node:http'

/** Measures the API beside bare node:http and lean Fastify. Needs wrk. */
export async function serve(rounds: number): Promise<void> {
  await compare({ title: 'Serving', start: startCompetitors, yardstick: BARE, notes: '' }, rounds)
}

async function startCompetitors(t: Teardown, scenario: Scenario, { api, plain, answer }: Service) {
  const { path, headers, isConditional = false } = scenario
  const bodyFile = join(await createFolder(t), 'body')
  await writeFile(bodyFile, isConditional ? plain.body : answer.body)
  const sent = { status: answer.status, headers: ownHeaders(answer), ...(isConditional ? {} : { bodyFile }) }
  const all: Record<string, Server> = {
    [BARE]: await startContestant(t, 'bare', path, sent),
    API: api,
  }
  // Lean Fastify neither compresses nor compares entity tags.
  if (headers === undefined && !isConditional) {
    all['lean Fastify'] = await startContestant(t, 'lean', path, { bodyFile })
  }
  return all
}
