/** A NodeMetrics or a PodMetrics. Source: k8s.io/metrics pkg/apis/metrics/v1beta1/types.go. */
export interface Metrics {
  readonly kind: "NodeMetrics" | "PodMetrics"
  readonly apiVersion: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly creationTimestamp: string
    readonly labels?: Readonly<Record<string, string>>
  }
  readonly timestamp: string
  readonly window: string
  readonly usage?: Usage
  readonly containers?: readonly { readonly name: string; readonly usage: Usage }[]
}

export interface MetricsList {
  readonly kind: "NodeMetricsList" | "PodMetricsList"
  readonly apiVersion: string
  readonly metadata: object
  readonly items: readonly Metrics[]
}

/** Quantities of a node or a container. */
export interface Usage {
  readonly cpu: string
  readonly memory: string
}
