import { SimulatorError } from './errors.ts'
import type { Simulator } from './server/simulator.ts'
import { startSimulator } from './server/start.ts'

interface Config {
  readonly host: string
  readonly port: number
  readonly seed: string
}

const DEFAULT_PORT = 4380

main().catch((error: unknown) => {
  console.error(`simulator: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
})

async function main(): Promise<void> {
  const simulator = await startSimulator(readConfig(process.env))
  announce(simulator)
  const end = (): void => {
    simulator.close().then(() => {
      if (process.connected) process.disconnect()
    })
  }
  process.once('SIGTERM', end)
  process.once('SIGINT', end)
  // Without its parent the simulator has no purpose.
  process.once('disconnect', end)
}

function readConfig(env: NodeJS.ProcessEnv): Config {
  const { HOST: host = '127.0.0.1', PORT = String(DEFAULT_PORT), SEED: seed = 'kimchi' } = env
  const port = Number(PORT)
  if (!/^\d{1,5}$/.test(PORT) || port > 65_535) {
    throw new SimulatorError(
      'SIM_ERR_CONFIG',
      `PORT must be a whole number from 0 to 65535; got ${JSON.stringify(PORT)}`,
    )
  }
  return { host, port, seed }
}

function announce(simulator: Simulator): void {
  const { url, upbitWsUrl, upbitRestUrl, binanceWsUrl, binanceRestUrl } = simulator
  console.log(`SIMULATED PRICES of Upbit and Binance at ${url}`)
  console.log(`  UPBIT_WS_URL=${upbitWsUrl} UPBIT_REST_URL=${upbitRestUrl}`)
  console.log(`  BINANCE_WS_URL=${binanceWsUrl} BINANCE_REST_URL=${binanceRestUrl}`)
  console.log(`  set a fault:    curl ${url}/faults -d '{"kind":"silence","exchange":"upbit","forMs":30000}'`)
  console.log(`  take all back:  curl -X DELETE ${url}/faults`)
}
