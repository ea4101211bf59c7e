import type { MetricDefinition } from './metrics-registry.ts'

/** Why an app is not ready. */
export interface Reason {
  /** A short name that stays the same while the sentence changes, for the label `reason`. */
  readonly reason: string
  /** One plain sentence, for `/ready`. */
  readonly text: string
}

/** The metric `kimchi_ready`: what `/ready` says, for alerts. */
export function readyGauge(reasons: () => readonly Reason[]): MetricDefinition {
  return {
    name: 'kimchi_ready',
    help: '1 without a reason while /ready is 200, else 0 for each reason.',
    labels: ['reason'],
    read: () => {
      const names = [...new Set(reasons().map(({ reason }) => reason))]
      return names.length === 0 ? [[{ reason: '' }, 1]] : names.map(reason => [{ reason }, 0] as const)
    },
  }
}
