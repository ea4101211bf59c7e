export { connectionCount, drain } from './drain.ts'
export {
  createDurationHistogram,
  type DurationHistogram,
  type HistogramReading,
} from './duration-histogram.ts'
export { createLogger, LOG_LEVELS, type Logger } from './logger.ts'
export { createMetricsRegistry, type MetricsRegistry } from './metrics-registry.ts'
export { openOpsServer } from './ops-server.ts'
export { opsSettings } from './ops-settings.ts'
export { type RunningApp, runApp } from './run-app.ts'
export { withSecretFiles } from './secret-files.ts'
export { systemClock } from './system-clock.ts'
