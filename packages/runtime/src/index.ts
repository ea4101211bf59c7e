export { createLogger, LOG_LEVELS, type Logger } from './logger.ts'
export {
  createMetricsRegistry,
  type MetricDefinition,
  type MetricLabels,
  type MetricsRegistry,
  type MetricValue,
} from './metrics-registry.ts'
export { openOpsServer } from './ops-server.ts'
export { opsSettings } from './ops-settings.ts'
export { type RunningApp, runApp } from './run-app.ts'
export { systemClock } from './system-clock.ts'
