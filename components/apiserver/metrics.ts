import { STATUS_CODES } from "node:http"
import type { Resource } from "../../pkg/apimachinery/resource.ts"
import { type Distribution, Registry, type Value } from "../../pkg/metrics/registry.ts"
import type { RequestInfo } from "./call/request-info.ts"

/** Source: apiserver pkg/endpoints/metrics/metrics.go requestLatencies. */
const REQUEST_BUCKETS = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
]

/** Source: apiserver pkg/endpoints/metrics/metrics.go requestSliLatencies. */
const OBJECTIVE_BUCKETS = [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 6, 8, 10, 15, 20, 30, 45, 60]

/** Source: apiserver pkg/endpoints/metrics/metrics.go responseSizes, watchListLatencies. */
const SIZE_BUCKETS = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]
const LIST_BUCKETS = [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 15, 20, 30, 45, 60]

const HOUR = 3600
const DAY = 24 * HOUR
/** Source: apiserver pkg/authentication/request/x509/x509.go clientCertificateExpirationHistogram. */
const EXPIRATION_BUCKETS = [
  ...[0, 0.5 * HOUR, HOUR, 2 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 4 * DAY, 7 * DAY],
  ...[30 * DAY, 90 * DAY, 180 * DAY, 360 * DAY],
]

export interface AnsweredRequest {
  readonly info: RequestInfo
  /**
   * Whether the request is authorized and some handler serves it. Only then its path becomes labels: anybody can send
   * any path, and each new label value makes a series that stays.
   */
  readonly isServed: boolean
  readonly isApply: boolean
  readonly code: number
  readonly seconds: number
  /** How much of that the request waited for webhooks and for its turn, which is no fault of the server. */
  readonly waitedSeconds: number
  /** Whether the server ended the request to protect itself: it took too long, or there was no room for it. */
  readonly isTerminated: boolean
  /** The length of the answer's body; 0 where it is not known. */
  readonly bytes: number
}

/** What every metric of requests is counted by. */
const REQUEST_LABELS = ["group", "resource", "scope", "subresource", "verb", "version"] as const

/** The metrics of the API server, under upstream's names. */
export interface ServerMetrics {
  readonly registry: Registry
  readonly inflightReads: Value
  readonly inflightWrites: Value
  /** Counts a request when it has been answered. */
  answered(request: AnsweredRequest): void
  /** Counts a watch or stream that begins; call the result when it ends. */
  longRunning(info: RequestInfo): () => void
  /** Notes the seconds until the client certificate of a request expires. */
  certificateExpiresIn(seconds: number): void
  /** Returns the counter of events sent to watchers of a resource. */
  watchEvents(resource: Resource): Value
  /** Notes that a deprecated resource was requested. */
  deprecatedRequested(resource: Resource, subresource: string): void
  /** Notes the seconds until a watch had sent all objects that it began with, and the mark of their end. */
  watchListed(resource: Resource, info: RequestInfo, seconds: number): void
}

export function createServerMetrics(registry = new Registry()): ServerMetrics {
  const total = registry.counter(
    "apiserver_request_total",
    "Requests answered, by verb, resource and HTTP code.",
    "code",
    "component",
    "dry_run",
    ...REQUEST_LABELS,
  )
  const duration = registry.histogram(
    "apiserver_request_duration_seconds",
    "Seconds from the head of a request to the end of its answer.",
    REQUEST_BUCKETS,
    "component",
    "dry_run",
    ...REQUEST_LABELS,
  )
  const objective = registry.histogram(
    "apiserver_request_sli_duration_seconds",
    "Seconds of a request without those for webhooks and for its turn.",
    OBJECTIVE_BUCKETS,
    "component",
    ...REQUEST_LABELS,
  )
  const terminations = registry.counter(
    "apiserver_request_terminations_total",
    "Requests that the server ended to protect itself.",
    "code",
    "component",
    ...REQUEST_LABELS,
  )
  const sizes = registry.histogram(
    "apiserver_response_sizes",
    "Bytes of answers to reads, before compression.",
    SIZE_BUCKETS,
    "component",
    ...REQUEST_LABELS,
  )
  const deprecated = registry.gauge(
    "apiserver_requested_deprecated_apis",
    "Deprecated APIs that were requested; the value is always 1.",
    "group",
    "version",
    "resource",
    "subresource",
    "removed_release",
  )
  const listed = registry.histogram(
    "apiserver_watch_list_duration_seconds",
    "Seconds until watches had sent the objects that they began with.",
    LIST_BUCKETS,
    "group",
    "version",
    "resource",
    "scope",
  )
  const inflight = registry.gauge(
    "apiserver_current_inflight_requests",
    "Requests under way that count against the limits.",
    "request_kind",
  )
  const long = registry.gauge(
    "apiserver_longrunning_requests",
    "Watches and streams that are open.",
    "component",
    ...REQUEST_LABELS,
  )
  const expiration = registry
    .histogram(
      "apiserver_client_certificate_expiration_seconds",
      "Seconds until the client certificate of a request expires.",
      EXPIRATION_BUCKETS,
    )
    .with()
  const events = registry.counter(
    "apiserver_watch_events_total",
    "Events sent to watchers over HTTP.",
    "group",
    "kind",
    "version",
  )

  // Declarations are validated in one way only, so nothing can differ from a second way. Source: apiserver
  // pkg/validation/metrics.go.
  registry
    .counter(
      "apiserver_validation_declarative_validation_mismatch_total",
      "Differences between declarative and handwritten validation; always 0.",
    )
    .with()
  registry
    .counter("apiserver_validation_declarative_validation_panic_total", "Panics of declarative validation; always 0.")
    .with()

  // Label values are joined once for each kind of request, so that a request costs one lookup.
  const series = new Map<
    string,
    {
      readonly total: Value
      readonly duration: Distribution
      readonly objective: Distribution
      /** Undefined where it is no read. Source: metrics.go MonitorRequest. */
      readonly sizes: Distribution | undefined
    }
  >()
  const byResource = new WeakMap<Resource, Value>()

  return {
    registry,
    inflightReads: inflight.with("readOnly"),
    inflightWrites: inflight.with("mutating"),
    answered({ info, isServed, isApply, code, seconds, waitedSeconds, isTerminated, bytes }) {
      const verb = isApply ? "APPLY" : verbLabel(info)
      const scope = isServed ? scopeOf(info) : ""
      const dryRun = info.query.raw.includes("dryRun") ? "All" : ""
      const { group, resource, subresource, version } = isServed ? info : NOTHING
      const id = `${code} ${verb} ${resource} ${subresource} ${scope} ${dryRun} ${group} ${version}`
      let found = series.get(id)
      if (found === undefined) {
        const labels = [group, resource, scope, subresource, verb, version] as const
        found = {
          total: total.with(codeLabel(code), "apiserver", dryRun, ...labels),
          duration: duration.with("apiserver", dryRun, ...labels),
          objective: objective.with("apiserver", ...labels),
          sizes: verb === "GET" || verb === "LIST" ? sizes.with("apiserver", ...labels) : undefined,
        }
        series.set(id, found)
      }
      found.total.value++
      found.duration.observe(seconds)
      found.objective.observe(Math.max(0, seconds - waitedSeconds))
      if (bytes > 0) found.sizes?.observe(bytes)
      if (isTerminated)
        terminations.with(codeLabel(code), "apiserver", group, resource, scope, subresource, verb, version).inc()
    },
    longRunning(info) {
      const gauge = long.with(
        "apiserver",
        info.group,
        info.resource,
        scopeOf(info),
        info.subresource,
        verbLabel(info),
        info.version,
      )
      gauge.inc()
      return () => gauge.dec()
    },
    certificateExpiresIn: (seconds) => expiration.observe(seconds),
    watchEvents(resource) {
      let counter = byResource.get(resource)
      if (counter === undefined)
        byResource.set(resource, (counter = events.with(resource.group, resource.kind, resource.version)))
      return counter
    },
    deprecatedRequested: ({ group, version, plural }, subresource) =>
      deprecated.with(group, version, plural, subresource, "").set(1),
    watchListed: ({ group, version, plural }, info, seconds) =>
      listed.with(group, version, plural, scopeOf(info)).observe(seconds),
  }
}

const NOTHING = { group: "", resource: "", subresource: "", version: "" }
const VERBS: Readonly<Record<string, string>> = {
  get: "GET",
  list: "LIST",
  watch: "WATCH",
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
  deletecollection: "DELETECOLLECTION",
  post: "POST",
  put: "PUT",
  head: "GET",
}
/** Source: apiserver pkg/endpoints/metrics/metrics.go validConnectRequests. */
const CONNECTS: readonly string[] = ["attach", "exec", "log", "portforward", "proxy"]
const verbLabel = ({ verb, subresource }: RequestInfo): string =>
  subresource !== "" && CONNECTS.includes(subresource) ? "CONNECT" : (VERBS[verb] ?? "other")

/** A pod behind a proxy may answer with any code, so unusual codes share a label. */
const codeLabel = (code: number): string =>
  STATUS_CODES[code] === undefined ? `${Math.floor(code / 100)}xx` : String(code)

/** Source: apiserver pkg/endpoints/metrics/metrics.go CleanScope. */
const scopeOf = ({ isResource, verb, name, namespace }: RequestInfo): string =>
  name !== "" || verb === "create" ? "resource" : namespace !== "" ? "namespace" : isResource ? "cluster" : ""
