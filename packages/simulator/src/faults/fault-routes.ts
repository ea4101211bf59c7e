import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { SimulatorError } from '../errors.ts'
import type { SimulatedExchanges } from '../market/simulated-exchanges.ts'
import type { RestResponse } from '../server/rest-response.ts'
import type { ActiveFault } from './fault.ts'
import { readFault } from './fault-json.ts'

/** The faults for a person: GET, POST and DELETE /faults, DELETE /faults/{id}. */
export async function respondToFaultRequest(
  { faults, markets }: SimulatedExchanges,
  request: IncomingMessage,
  path: string,
): Promise<RestResponse> {
  const id = path.slice('/faults/'.length)
  if (request.method === 'GET') return { status: 200, body: { faults: faults.list().map(shown) } }
  if (request.method === 'DELETE') {
    const ended = id === '' ? faults.clear() : faults.clear(/^\d+$/.test(id) ? Number(id) : -1)
    if (id !== '' && ended === 0) return failed(404, `no fault has the id ${JSON.stringify(id)}`)
    return { status: 200, body: { ended } }
  }
  if (request.method !== 'POST' || id !== '') return failed(405, 'use GET, POST or DELETE on /faults')
  try {
    const isMarket = (code: string) =>
      [markets.get('upbit', code), markets.get('binance', code)].some(Boolean)
    const fault = readFault(parse(await text(request)), isMarket)
    faults.set(fault)
    // A drop may be over as soon as it is set, and then no longer in the list.
    const active = faults.list().find(entry => entry.fault === fault)
    return { status: 201, body: active ? shown(active) : { ...fault, done: true } }
  } catch (error) {
    if (error instanceof SimulatorError) return failed(400, error.message)
    throw error
  }
}

function shown({ id, fault, setAt, altered }: ActiveFault): object {
  return { id, ...fault, setAt: new Date(setAt).toISOString(), altered }
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch (cause) {
    throw new SimulatorError('SIM_ERR_FAULT', `body must be JSON; ${(cause as Error).message}`, { cause })
  }
}

function failed(status: number, message: string): RestResponse {
  return { status, body: { error: message } }
}
