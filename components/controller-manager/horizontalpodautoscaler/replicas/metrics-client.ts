import { milliOf, parseQuantity } from "../../../../pkg/apimachinery/scalars/quantity.ts"
import type { CrossVersionObjectReference } from "../../../../pkg/api/autoscaling/v2/metrics.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"

/**
 * Asks an aggregated API by GET, e.g. `/apis/metrics.k8s.io/v1beta1/namespaces/default/pods`. Returns what the answer's
 * JSON says. @throws Error in words for the user where it cannot be asked or refuses
 */
export type AskMetrics = (path: string) => Promise<unknown>

/** What a metric says of one pod: its value in thousandths, when and over how long it was measured, in milliseconds. */
export interface PodMetric {
  readonly value: number
  readonly timestamp: number
  readonly windowMs: number
}
export type PodMetrics = Map<string, PodMetric>

/** The metrics that autoscalers ask for. Source: pkg/controller/podautoscaler/metrics/client.go. */
export interface MetricsClient {
  /** How much of a resource pods use: all containers of a pod together, or one of them. */
  resource(namespace: string, selector: string, resource: string, container?: string): Promise<PodMetrics>
  /** A custom metric of each pod. */
  pods(namespace: string, selector: string, metric: string, metricSelector: string): Promise<PodMetrics>
  /** A custom metric of one object, in thousandths. `plural` is `<resource>.<group>` as in paths. */
  object(
    namespace: string,
    object: CrossVersionObjectReference,
    plural: string,
    metric: string,
    metricSelector: string,
  ): Promise<number>
  /** Each value of a metric from outside, in thousandths. */
  external(namespace: string, metric: string, metricSelector: string): Promise<readonly number[]>
}

/** Of a custom metric whose server does not say over how long it measured. */
const DEFAULT_WINDOW_MS = 60_000

interface PodMetricsItem {
  readonly metadata: { readonly name: string }
  readonly timestamp: string
  readonly window: string
  readonly containers?: readonly { readonly name: string; readonly usage: Readonly<Record<string, string>> }[]
}
interface MetricValue {
  readonly describedObject: { readonly name: string }
  readonly timestamp: string
  readonly windowSeconds?: number
  readonly value: string
}

export function metricsClient(ask: AskMetrics): MetricsClient {
  const custom = async (path: string): Promise<readonly MetricValue[]> => {
    const items = await itemsOf<MetricValue>(ask(`/apis/custom.metrics.k8s.io/v1beta2/${path}`), "custom")
    if (items.length === 0) throw new Error("no metrics returned from custom metrics API")
    return items
  }
  return {
    async resource(namespace, selector, resource, container) {
      const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods${query({ labelSelector: selector })}`
      const items = await itemsOf<PodMetricsItem>(ask(path), "resource")
      if (items.length === 0) throw new Error("no metrics returned from resource metrics API")
      const metrics: PodMetrics = new Map()
      for (const { metadata, timestamp, window, containers = [] } of items) {
        const counted = container === undefined ? containers : containers.filter(({ name }) => name === container)
        const values = counted.map(({ usage }) => milli(usage[resource]))
        if (values.length === 0 || values.includes(undefined)) continue
        const value = values.reduce<number>((sum, one) => sum + one!, 0)
        metrics.set(metadata.name, { value, timestamp: Date.parse(timestamp), windowMs: durationMs(window) })
      }
      return metrics
    },
    async pods(namespace, selector, metric, metricSelector) {
      const asked = query({ labelSelector: selector, metricLabelSelector: metricSelector })
      const items = await custom(`namespaces/${namespace}/pods/*/${metric}${asked}`)
      return new Map(
        items.map(({ describedObject, timestamp, windowSeconds, value }) => [
          describedObject.name,
          {
            value: milli(value) ?? 0,
            timestamp: Date.parse(timestamp),
            windowMs: windowSeconds === undefined ? DEFAULT_WINDOW_MS : windowSeconds * 1000,
          },
        ]),
      )
    },
    async object(namespace, { kind, name, apiVersion = "" }, plural, metric, metricSelector) {
      const isNamespace = kind === "Namespace" && !apiVersion.includes("/")
      const object = isNamespace ? `namespaces/${namespace}/metrics` : `namespaces/${namespace}/${plural}/${name}`
      const [first] = await custom(`${object}/${metric}${query({ metricLabelSelector: metricSelector })}`)
      return milli(first!.value) ?? 0
    },
    async external(namespace, metric, metricSelector) {
      const asked = query({ labelSelector: metricSelector })
      const path = `/apis/external.metrics.k8s.io/v1beta1/namespaces/${namespace}/${metric}${asked}`
      const items = await itemsOf<{ readonly value: string }>(ask(path), "external")
      if (items.length === 0) throw new Error("no metrics returned from external metrics API")
      return items.map(({ value }) => milli(value) ?? 0)
    },
  }
}

async function itemsOf<T>(answer: Promise<unknown>, api: string): Promise<readonly T[]> {
  const list = await answer.catch((err: unknown) => {
    const reason = errorMessage(err)
    throw new Error(`unable to fetch metrics from ${api} metrics API: ${reason}`, { cause: err })
  })
  return (list as { readonly items?: readonly T[] | null }).items ?? []
}

const milli = (text: string | undefined): number | undefined =>
  text === undefined || parseQuantity(text) === undefined ? undefined : milliOf(text)

function query(parameters: Readonly<Record<string, string>>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== "")
  return given.length === 0 ? "" : `?${new URLSearchParams(given).toString()}`
}

const UNITS: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 1e-3,
  µs: 1e-3,
  ns: 1e-6,
}

/** A duration as Go writes it, such as `1m30s` or `15.123s`, in milliseconds. */
function durationMs(text: string): number {
  let ms = 0
  for (const [, count, unit] of text.matchAll(/(\d{1,9}(?:\.\d{1,9})?)(h|ms|m|us|µs|ns|s)/g))
    ms += Number(count) * UNITS[unit!]!
  return ms
}
