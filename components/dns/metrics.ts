import { Registry, type Distribution, type Value } from "../../pkg/metrics/registry.ts"
import { typeName, type Client } from "./wire/query.ts"

const SERVER = "dns://:53"
/** Sources: CoreDNS plugin/metrics/vars/vars.go, plugin/pkg/proxy/metrics.go. */
const SECONDS = Array.from({ length: 16 }, (_, i) => 0.00025 * 2 ** i)
const BYTES = [0, 100, 200, 300, 400, 511, 1023, 2047, 4095, 8291, 16e3, 32e3, 48e3, 64e3]
const RCODES = ["NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"]

/** One query and its response. */
export interface Asked {
  readonly client: Client
  readonly type: number
  readonly zone: string
  readonly rcode: number
  /** The CoreDNS plugin that would have answered; empty when none has. */
  readonly from: string
  readonly requestBytes: number
  readonly responseBytes: number
  readonly ms: number
}

interface Series {
  readonly requests: Value
  readonly responses: Value
  readonly seconds: Distribution
  readonly requestBytes: Distribution
  readonly responseBytes: Distribution
}

/**
 * The metrics of the DNS server, in a registry of their own and with CoreDNS' names. Label values come from the
 * configuration and from fixed lists, never from queries: clients cannot create series. Source: CoreDNS
 * plugin/metrics/README.md.
 */
export class DnsMetrics {
  readonly registry = new Registry()
  readonly #labels = ["server", "zone", "view"] as const
  readonly #requests = this.registry.counter(
    "coredns_dns_requests_total",
    "Queries",
    ...this.#labels,
    "proto",
    "family",
    "type",
  )
  readonly #responses = this.registry.counter(
    "coredns_dns_responses_total",
    "Responses by code",
    ...this.#labels,
    "rcode",
    "plugin",
  )
  readonly #seconds = this.registry.histogram(
    "coredns_dns_request_duration_seconds",
    "Seconds from a query to its response",
    SECONDS,
    ...this.#labels,
  )
  readonly #requestBytes = this.registry.histogram(
    "coredns_dns_request_size_bytes",
    "Bytes of queries",
    BYTES,
    ...this.#labels,
    "proto",
  )
  readonly #responseBytes = this.registry.histogram(
    "coredns_dns_response_size_bytes",
    "Bytes of responses",
    BYTES,
    ...this.#labels,
    "proto",
  )
  readonly #cacheRequests = this.#cacheCounter("requests_total", "Queries that were looked up in a cache")
  readonly #cacheMisses = this.#cacheCounter("misses_total", "Queries without a cached answer")
  readonly #cacheHits = this.registry.counter(
    "coredns_cache_hits_total",
    "Queries with a cached answer",
    "server",
    "type",
    "zones",
    "view",
  )
  readonly #stale = this.#cacheCounter(
    "served_stale_total",
    "Expired answers that were served because no upstream server answered",
  )
  readonly #rejects = this.registry
    .counter("coredns_forward_max_concurrent_rejects_total", "Queries refused because too many were waiting")
    .with()
  readonly #proxied = this.registry.histogram(
    "coredns_proxy_request_duration_seconds",
    "Seconds that an upstream server took to answer",
    SECONDS,
    "proxy_name",
    "to",
    "rcode",
  )
  readonly #unanswered = this.registry.counter(
    "coredns_proxy_healthcheck_failures_total",
    "Queries that an upstream server did not answer",
    "proxy_name",
    "to",
  )
  /** The series of each combination of labels, so that a query needs one look-up. */
  readonly #series = new Map<string, Series>()

  /** Counts a query and its response. */
  answered({ client, type, zone, rcode, from, requestBytes, responseBytes, ms }: Asked): void {
    const { protocol } = client
    const named = typeName({ type }) ?? "other"
    const key = `${protocol} ${familyOf(client)} ${named} ${zone} ${rcode} ${from}`
    let series = this.#series.get(key)
    if (series === undefined) {
      series = {
        requests: this.#requests.with(SERVER, zone, "", protocol, familyOf(client), named),
        responses: this.#responses.with(SERVER, zone, "", rcodeName(rcode), from),
        seconds: this.#seconds.with(SERVER, zone, ""),
        requestBytes: this.#requestBytes.with(SERVER, zone, "", protocol),
        responseBytes: this.#responseBytes.with(SERVER, zone, "", protocol),
      }
      this.#series.set(key, series)
    }
    series.requests.inc()
    series.responses.inc()
    series.seconds.observe(ms / 1000)
    series.requestBytes.observe(requestBytes)
    series.responseBytes.observe(responseBytes)
  }

  /** Counts a cache look-up. `hit` is the kind of the answer found; undefined when none was fresh. */
  cacheAsked(hit: "success" | "denial" | undefined): void {
    this.#cacheRequests.inc()
    if (hit === undefined) this.#cacheMisses.inc()
    else this.#cacheHits.with(SERVER, hit, ".", "").inc()
  }

  staleServed(): void {
    this.#stale.inc()
  }

  /** Exports the number of cached answers, which `counts` returns at each scrape. */
  cacheEntries(counts: () => { readonly success: number; readonly denial: number }): void {
    this.registry.readEach("gauge", "coredns_cache_entries", "Cached answers", "type", counts)
  }

  rejected(): void {
    this.#rejects.inc()
  }

  forwarded(to: string, rcode: number, ms: number): void {
    this.#proxied.with("forward", to, rcodeName(rcode)).observe(ms / 1000)
  }

  unanswered(to: string): void {
    this.#unanswered.with("forward", to).inc()
  }

  #cacheCounter(rest: string, help: string): Value {
    return this.registry.counter(`coredns_cache_${rest}`, help, "server", "zones", "view").with(SERVER, ".", "")
  }
}

const rcodeName = (rcode: number): string => RCODES[rcode] ?? (rcode === 16 ? "BADVERS" : "other")
/** Source: RFC 7042, address family numbers, as CoreDNS writes them. */
const familyOf = ({ address }: Client): string => (address.includes(":") ? "2" : "1")
