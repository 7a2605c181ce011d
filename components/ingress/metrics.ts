import { STATUS_CODES } from "node:http"
import { exactKey } from "../../pkg/cache/exact-key.ts"
import { splitKey } from "../../pkg/client/informer.ts"
import type { Distribution, Registry, Value } from "../../pkg/metrics/registry.ts"
import type { Finished } from "./proxy/proxy-parts.ts"
import { serviceOf, type Backend, type Owner, type Target } from "./routing/target.ts"

const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** The series of one backend of a route, kept so that the next request needs no look-up. */
interface BackendSeries {
  readonly byCode: Map<number, Value>
  readonly seconds: Distribution
}

/**
 * The metrics of the proxy. Labels are Ingresses, routes and their Services, never hosts and paths, which clients
 * choose. A status code that no standard defines is counted as its class, such as `2xx`. The series of deleted objects
 * are removed.
 */
export class IngressMetrics {
  readonly #ingresses
  readonly #routes
  /** By backend, or by target when no backend was chosen. */
  readonly #series = new WeakMap<Backend | Target, BackendSeries>()
  /** Label values in use, by owner. */
  readonly #labels = new Map<string, Map<string, { readonly owner: Owner; readonly values: readonly string[] }>>()

  constructor(registry: Registry) {
    this.#ingresses = {
      requests: registry.counter(
        "k3ts_ingress_requests_total",
        "Requests that were answered, by Ingress; without one if no Ingress matched",
        "namespace",
        "ingress",
        "service",
        "code",
      ),
      seconds: registry.histogram(
        "k3ts_ingress_request_duration_seconds",
        "Seconds from the head of a request to the end of its answer",
        BUCKETS,
        "namespace",
        "ingress",
        "service",
      ),
    }
    this.#routes = {
      requests: registry.counter(
        "k3ts_gateway_requests_total",
        "Requests that were answered by a route of Gateway API",
        "namespace",
        "kind",
        "route",
        "service",
        "code",
      ),
      seconds: registry.histogram(
        "k3ts_gateway_request_duration_seconds",
        "Seconds from the head of a request to the end of its answer",
        BUCKETS,
        "namespace",
        "kind",
        "route",
        "service",
      ),
    }
  }

  count({ target, backend, status, ms }: Pick<Finished, "target" | "backend" | "status" | "ms">): void {
    if (target === undefined) return this.refused(status)
    const at = backend ?? target
    let series = this.#series.get(at)
    if (series === undefined) {
      const labels = this.#labelsOf(target.owner, backend)
      series = { byCode: new Map(), seconds: this.#familyOf(target.owner).seconds.with(...labels) }
      this.#series.set(at, series)
    }
    let counted = series.byCode.get(status)
    if (counted === undefined) series.byCode.set(status, (counted = this.#counter(target.owner, backend, status)))
    counted.inc()
    // An upgraded connection may stay open for any time, so its duration is not recorded.
    if (status !== 101) series.seconds.observe(ms / 1000)
  }

  /** Counts a request that matches no rule, or that is invalid. */
  refused(status: number): void {
    this.#ingresses.requests.with("", "", "", codeOf(status)).inc()
  }

  /** Removes the series of all owners except these, as `ownerKey` writes them. */
  keep(owners: ReadonlySet<string>): void {
    for (const [key, used] of this.#labels) {
      if (owners.has(key)) continue
      this.#labels.delete(key)
      for (const { owner, values } of used.values()) {
        const { requests, seconds } = this.#familyOf(owner)
        if (values.length === (owner.kind === "Ingress" ? 4 : 5)) requests.remove(...values)
        else seconds.remove(...values)
      }
    }
  }

  #familyOf({ kind }: Owner) {
    return kind === "Ingress" ? this.#ingresses : this.#routes
  }

  #counter(owner: Owner, backend: Backend | undefined, status: number): Value {
    const labels = [...this.#labelsOf(owner, backend), codeOf(status)]
    this.#use(owner, labels)
    return this.#familyOf(owner).requests.with(...labels)
  }

  #labelsOf(owner: Owner, backend: Backend | undefined): readonly string[] {
    const { namespace = "", name } = splitKey(owner.key)
    const kind = owner.kind === "Ingress" ? [] : [owner.kind]
    const labels = [namespace, ...kind, name, serviceOf(backend) ?? ""]
    this.#use(owner, labels)
    return labels
  }

  #use(owner: Owner, values: readonly string[]): void {
    const key = ownerKey(owner)
    let used = this.#labels.get(key)
    if (used === undefined) this.#labels.set(key, (used = new Map()))
    used.set(exactKey(values), { owner, values })
  }
}

export const ownerKey = ({ kind, key }: Owner): string => `${kind}/${key}`

/** 499: the client closed the connection. */
const codeOf = (status: number): string =>
  status in STATUS_CODES || status === 499 ? String(status) : `${Math.floor(status / 100)}xx`
