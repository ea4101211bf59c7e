// The Prometheus operator's kinds, as far as our manifests use them:
// https://prometheus-operator.dev/docs/api-reference/api/
import type { ObjectMeta } from 'kubernetes-types/meta/v1.js'

interface Kind<Spec> {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
  readonly spec: Spec
}

interface Rule {
  readonly alert?: string
  readonly record?: string
  readonly expr: string
  readonly for?: string
  readonly keep_firing_for?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export type PodMonitor = Kind<{
  readonly jobLabel?: string
  readonly selector: {
    readonly matchExpressions: readonly { key: string; operator: string; values: readonly string[] }[]
  }
  readonly podMetricsEndpoints: readonly { readonly port: string; readonly interval: string }[]
}>

export type Probe = Kind<{
  readonly jobName: string
  readonly interval: string
  readonly module: string
  readonly prober: { readonly url: string }
  readonly targets: { readonly staticConfig: { readonly static: readonly string[] } }
}>

export type PrometheusRule = Kind<{
  readonly groups: readonly {
    readonly name: string
    readonly interval?: string
    readonly rules: readonly Rule[]
  }[]
}>
