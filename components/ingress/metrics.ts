import { STATUS_CODES } from "node:http"
import { splitKey, type Key } from "../../pkg/client/informer.ts"
import type { Distribution, Registry, Value } from "../../pkg/metrics/registry.ts"
import type { Finished } from "./proxy/exchange.ts"
import type { Target } from "./routing/compile.ts"

const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** The series of one backend of an Ingress, at hand for the next request. */
interface TargetSeries {
  readonly byCode: Map<number, Value>
  readonly seconds: Distribution
}

/**
 * What the proxy tells of its requests. Series are those of Ingresses and their Services, never of hosts and paths,
 * which clients choose; a status that no standard has counts as its hundred, such as `2xx`. Those of an Ingress that is
 * gone are forgotten.
 */
export class IngressMetrics {
  readonly #requests
  readonly #seconds
  readonly #series = new WeakMap<Target, TargetSeries>()
  /** Label values in use, by Ingress. */
  readonly #labels = new Map<Key, Map<string, readonly string[]>>()

  constructor(registry: Registry) {
    this.#requests = registry.counter(
      "k3ts_ingress_requests_total",
      "Requests that were answered; without an Ingress where none was for them",
      "namespace",
      "ingress",
      "service",
      "code",
    )
    this.#seconds = registry.histogram(
      "k3ts_ingress_request_duration_seconds",
      "Seconds from the head of a request to the end of its answer",
      BUCKETS,
      "namespace",
      "ingress",
      "service",
    )
  }

  count({ target, status, ms }: Pick<Finished, "target" | "status" | "ms">): void {
    if (target === undefined) return this.refused(status)
    let series = this.#series.get(target)
    if (series === undefined) {
      series = { byCode: new Map(), seconds: this.#seconds.with(...this.#labelsOf(target)) }
      this.#series.set(target, series)
    }
    let counted = series.byCode.get(status)
    if (counted === undefined) series.byCode.set(status, (counted = this.#counter(target, status)))
    counted.inc()
    // An upgraded connection is open for as long as somebody likes.
    if (status !== 101) series.seconds.observe(ms / 1000)
  }

  /** A request that no Ingress is for, or that is not understood. */
  refused(status: number): void {
    this.#requests.with("", "", "", codeOf(status)).inc()
  }

  /** Forgets the series of all Ingresses but these. */
  keep(ingresses: ReadonlySet<Key>): void {
    for (const [key, used] of this.#labels) {
      if (ingresses.has(key)) continue
      this.#labels.delete(key)
      for (const values of used.values()) {
        if (values.length === 4) this.#requests.remove(...values)
        else this.#seconds.remove(...values)
      }
    }
  }

  #counter(target: Target, status: number): Value {
    const labels = [...this.#labelsOf(target), codeOf(status)]
    this.#use(target, labels)
    return this.#requests.with(...labels)
  }

  #labelsOf(target: Target): readonly string[] {
    const { namespace = "", name } = splitKey(target.ingress)
    const labels = [namespace, name, target.backend?.service ?? ""]
    this.#use(target, labels)
    return labels
  }

  #use({ ingress }: Target, labels: readonly string[]): void {
    let used = this.#labels.get(ingress)
    if (used === undefined) this.#labels.set(ingress, (used = new Map()))
    used.set(labels.join("\0"), labels)
  }
}

/** 499: the client went away. */
const codeOf = (status: number): string =>
  status in STATUS_CODES || status === 499 ? String(status) : `${Math.floor(status / 100)}xx`
