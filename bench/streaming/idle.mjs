import { monitorEventLoopDelay } from 'node:perf_hooks'

// A process that does nothing: what it stalls is the machine's doing.
const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
process.on('message', () => process.send?.(delay.max / 1e6 - 1, () => process.exit(0)))
process.on('disconnect', () => process.exit(0))
