import { type Simulator, startSimulator } from './server/start.ts'

main().catch((error: unknown) => {
  console.error(`simulator: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
})

async function main(): Promise<void> {
  const simulator = await startSimulator(readOptions(process.env))
  const end = (): void => {
    simulator.close().then(() => {
      if (process.connected) process.disconnect()
    })
  }
  process.once('SIGTERM', end)
  process.once('SIGINT', end)
  // Without its parent the simulator has no purpose.
  process.once('disconnect', end)
  // Last, because whoever has read this line may send a signal at once.
  printAddresses(simulator)
  // A parent that supervises it waits for this; one that has gone meanwhile does not.
  if (process.connected) process.send?.({ started: true }, () => {})
}

function readOptions({ HOST: host = '127.0.0.1', PORT = '4380', SEED: seed = 'kimchi' }: NodeJS.ProcessEnv) {
  const port = Number(PORT)
  if (!/^\d{1,5}$/.test(PORT) || port > 65_535) {
    throw new Error(`PORT must be a whole number from 0 to 65535; got ${JSON.stringify(PORT)}`)
  }
  return { host, port, seed }
}

function printAddresses(simulator: Simulator): void {
  const { url, env } = simulator
  console.log(`SIMULATED PRICES of Upbit and Binance at ${url}`)
  for (const [name, value] of Object.entries(env)) console.log(`  ${name}=${value}`)
}
