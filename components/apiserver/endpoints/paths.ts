import { decidedBy } from "../authorization/decisions.ts"
import { whenReady } from "../call/maybe-promise.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { podResourceMetrics } from "./pod-resource-metrics.ts"
import { Hono, type Context } from "hono"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Scheme } from "../../../pkg/api/scheme.ts"
import { jwks, openIdConfiguration } from "../../../pkg/jwt/discovery.ts"
import type { VerifyingKey } from "../../../pkg/jwt/signing-key.ts"
import type { Profiler } from "../../../pkg/runtime/profiler.ts"
import type { Registry } from "../../../pkg/metrics/registry.ts"
import { writeYaml } from "../../../pkg/yaml/write.ts"
import type { Aggregator } from "../aggregator/aggregator.ts"
import type { ListedGroup } from "../aggregator/groups.ts"
import type { Exchange } from "../call/exchange.ts"
import { JSON_ALONE, MEDIA_TYPE, negotiate, parseAccept, PLAIN } from "../codec/negotiate.ts"
import type { RequestInfo } from "../call/request-info.ts"
import { dumpPriorityLevels, dumpQueues, dumpRequests } from "../flowcontrol/dump.ts"
import type { FlowControl } from "../flowcontrol/flow-control.ts"
import { noSuchMethod, noSuchResource } from "../call/subresource-verbs.ts"
import type { Pipeline, UserInfo } from "../call/request.ts"
import { aggregated, apiGroup, apiGroupList, apiResourceList, apiVersions, type Document } from "./discovery.ts"
import type { Health } from "../health/health.ts"
import type { OpenApiDocuments } from "./openapi.ts"
import { versionInfo } from "./version-info.ts"

export interface PathsOptions {
  readonly scheme: Scheme
  readonly pipeline: Pipeline
  /** Returns the served groups, including those of extension API servers. */
  readonly listed: Aggregator["listed"]
  readonly health: Health
  readonly metrics: Registry
  /** Returns all pods, for what they request. */
  readonly pods: () => readonly Pod[]
  /** Loaded at the first request: it is large, and the start does not need it. */
  readonly openApi: () => Promise<OpenApiDocuments>
  readonly serviceAccounts: {
    readonly issuer: string
    readonly keys: readonly VerifyingKey[]
    /** Where others find the keys; at this server unless given. */
    readonly jwksUri?: string | undefined
  }
  /** Undefined without priority and fairness. */
  readonly flow: FlowControl | undefined
  readonly clock: Clock
  /** Undefined without profiles. */
  readonly profiler?: Profiler | undefined
  /** Returns `host:port` of the server for clients, which is known once it listens. */
  readonly serverAddress: () => string
  /** Serves what `k3ts secrets-encrypt` asks for; undefined for other paths. */
  readonly secretsEncryption: (exchange: Exchange, info: RequestInfo) => Promise<void> | undefined
  /** Serves why objects are not well; undefined for other paths. */
  readonly why: (exchange: Exchange, info: RequestInfo) => Promise<void> | undefined
}

type Env = { Bindings: { readonly exchange: Exchange } }

/**
 * Serves all paths that are no resources: health, version, metrics, discovery, OpenAPI, the keys of service account
 * tokens, and the index at `/`. Routes match the shape of the URL, and the scheme is read at each request, because
 * kinds come and go.
 */
export function createPaths(
  options: PathsOptions,
): (exchange: Exchange, info: RequestInfo, user: UserInfo) => void | Promise<void> {
  const { health, pipeline } = options
  let app: Hono<Env> | undefined
  return (exchange, info, user) => {
    const isHealth = decidedBy(pipeline, (decider) =>
      health.serve(
        exchange,
        info.path,
        info.query,
        (path) => decider.authorize({ user, verb: info.verb, path }).allowed,
      ),
    )
    return whenReady(isHealth, (isServed: boolean) => {
      if (isServed) return undefined
      const pending = options.secretsEncryption(exchange, info) ?? options.why(exchange, info)
      if (pending !== undefined) return pending
      app ??= routes(options)
      return respond(app, exchange, info)
    })
  }
}

/** As upstream, whose handlers of these paths do not look at the method; those of other paths take no other than GET. */
const ANY_METHOD = /^\/(index\.html|metrics|metrics\/(?:slis|resources)|apis|apis\/[^/]+)?\/?$/

/**
 * Parsing a URL removes `.` and `..` from its path, so the served path would differ from the authorized one: such paths
 * are refused.
 */
const DOTS = /\/(\.|%2e){1,2}(\/|$)/i

function urlOf(target: string): string {
  const [path = ""] = target.split("?")
  // The path is appended to the host instead of resolved: a path with two leading slashes would name another host.
  if (!path.startsWith("/") || path.includes("\\") || DOTS.test(path))
    throw new ApiError("NotFound", "the server could not find the requested resource")
  return `http://localhost${target}`
}

/** Runs the router and sends its response. */
async function respond(app: Hono<Env>, exchange: Exchange, { verb, path, past }: RequestInfo): Promise<void> {
  const { req } = exchange
  const headers = new Headers()
  for (const name of ["accept", "if-none-match"]) {
    const value = exchange.header(name)
    if (value !== undefined) headers.set(name, value)
  }
  const response = await app.fetch(new Request(urlOf(past?.target ?? req.url ?? "/"), { headers }), { exchange })
  if (verb !== "get" && verb !== "head" && response.status !== 404 && !ANY_METHOD.test(path)) throw noSuchMethod()
  for (const name of ["etag", "expires", "last-modified", "location", "content-disposition"]) {
    const value = response.headers.get(name)
    if (value !== null && !exchange.res.headersSent) exchange.res.setHeader(name, value)
  }
  const [cacheControl, vary] = [response.headers.get("cache-control"), response.headers.get("vary")]
  const more = {
    ...(cacheControl === null ? {} : { "Cache-Control": cacheControl }),
    ...(vary === null ? {} : { Vary: vary }),
  }
  if (response.status === 304) return exchange.sendUnchanged(more)
  const body = new Uint8Array(await response.arrayBuffer())
  exchange.send(response.status, response.headers.get("content-type") ?? "application/json", body, more)
}

function routes(options: PathsOptions): Hono<Env> {
  const { scheme, listed, metrics, pods, health, serviceAccounts, serverAddress, openApi } = options
  const app = new Hono<Env>({ strict: false })
  const json = (c: Context<Env>, value: unknown) =>
    c.body(c.env.exchange.pretty() ? JSON.stringify(value, undefined, 2) + "\n" : JSON.stringify(value) + "\n", 200, {
      "Content-Type": MEDIA_TYPE.json,
    })
  /** Differs from upstream: who takes protobuf gets JSON, since these documents have no other form here. */
  const document = (c: Context<Env>, value: unknown) =>
    negotiate(c.req.header("accept"), PLAIN).encoding === "yaml"
      ? c.body(writeYaml(value), 200, { "Content-Type": MEDIA_TYPE.yaml })
      : json(c, value)
  const found = (c: Context<Env>, value: unknown) => (value === undefined ? c.notFound() : document(c, value))

  const documents = new Map<string, { readonly generation: number; readonly document: Document }>()
  const aggregatedDocument = (which: "api" | "apis", version: "v2" | "v2beta1"): Document => {
    const key = `${which} ${version}`
    const { generation, groups } = listed()
    const known = documents.get(key)
    if (known?.generation === generation) return known.document
    const document = aggregated(scheme, groups, which, version)
    documents.set(key, { generation, document })
    return document
  }
  const discovery = (which: "api" | "apis", plain: () => unknown) => (c: Context<Env>) => {
    const version = aggregatedVersion(c.req.header("accept"))
    if (version === undefined) return document(c, plain())
    const { text, etag } = aggregatedDocument(which, version)
    const headers = { ETag: etag, Vary: "Accept", "Cache-Control": "public" }
    if (c.req.header("if-none-match") === etag) return c.body(null, 304, headers)
    return c.body(text, 200, {
      ...headers,
      "Content-Type": `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`,
    })
  }

  // Source: apiserver pkg/endpoints/handlers/responsewriters WriteRawJSON.
  const indented = (c: Context<Env>, value: unknown) =>
    c.body(JSON.stringify(value, undefined, 2), 200, { "Content-Type": "application/json" })

  app.get("/version", (c) => {
    negotiate(c.req.header("accept"), JSON_ALONE)
    return indented(c, versionInfo())
  })
  const TEXT = { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" }
  const figures = (registry: Registry) => (c: Context<Env>) => c.body(registry.text(), 200, TEXT)
  app.get("/metrics", figures(metrics))
  app.get("/metrics/slis", figures(health.slis.registry))
  app.get("/metrics/resources", (c) => c.body(podResourceMetrics(pods()), 200, TEXT))
  app.get(
    "/api",
    discovery("api", () => apiVersions(serverAddress())),
  )
  app.get(
    "/apis",
    discovery("apis", () => apiGroupList(listed().groups)),
  )
  app.get("/api/:version", (c) => found(c, apiResourceList(scheme, "", c.req.param("version"))))
  app.get("/apis/:group", (c) => found(c, apiGroup(listed().groups, c.req.param("group"))))
  app.get("/apis/:group/:version", (c) =>
    found(c, apiResourceList(scheme, c.req.param("group"), c.req.param("version"))),
  )
  app.get("/openapi/v2", async (c) => (await openApi()).v2(c.req.header("accept"), c.req.header("if-none-match")))
  app.get("/openapi/v3", async (c) => (await openApi()).v3Index(c.req.header("if-none-match")))
  app.get(
    "/openapi/v3/*",
    async (c) =>
      (await (
        await openApi()
      ).v3(c.req.path.slice("/openapi/v3/".length), c.req.query("hash"), c.req.header("if-none-match"))) ??
      c.notFound(),
  )
  // Source: pkg/routes/openidmetadata.go.
  const kept = { "Cache-Control": "public, max-age=3600" }
  app.get("/.well-known/openid-configuration", (c) => {
    const { issuer, keys, jwksUri } = serviceAccounts
    const configuration = openIdConfiguration({ issuer, server: `https://${serverAddress()}`, keys, jwksUri })
    return c.body(JSON.stringify(configuration), 200, { "Content-Type": MEDIA_TYPE.json, ...kept })
  })
  app.get("/openid/v1/jwks", (c) =>
    c.body(JSON.stringify(jwks(serviceAccounts.keys)), 200, { "Content-Type": "application/jwk-set+json", ...kept }),
  )
  for (const path of ["/", "/index.html"]) app.get(path, (c) => indented(c, { paths: indexOf(listed().groups.named) }))
  const { flow, clock, profiler } = options
  if (profiler !== undefined)
    app.get("/debug/pprof/*", async (c) => {
      const { profileAt } = await import("./profiles.ts")
      return (await profileAt(c.req.path, c.req.query("seconds"), profiler, c.env.exchange)) ?? c.notFound()
    })
  if (flow !== undefined) {
    const text = (c: Context<Env>, body: string) => c.body(body, 200, { "Content-Type": "text/plain; charset=utf-8" })
    const debug = "/debug/api_priority_and_fairness"
    app.get(`${debug}/dump_priority_levels`, (c) => text(c, dumpPriorityLevels(flow)))
    app.get(`${debug}/dump_queues`, (c) => text(c, dumpQueues(flow)))
    app.get(`${debug}/dump_requests`, (c) =>
      text(c, dumpRequests(flow, clock, (c.req.query("includeRequestDetails") ?? "") !== "")),
    )
  }
  app.notFound((c) => {
    if (isUnderApi(listed().groups.named, c.req.path)) throw noSuchResource()
    return c.body("404 page not found\n", 404, { "Content-Type": "text/plain; charset=utf-8" })
  })
  app.onError((err) => {
    throw err
  })
  return app
}

/** Whether the responses of a path, failures included, are objects of the API. */
function isUnderApi(groups: readonly ListedGroup[], path: string): boolean {
  const [, first, second = ""] = path.split("/")
  return first === "api" || first === "version" || (first === "apis" && groups.some(({ name }) => name === second))
}

/** Returns the version of aggregated discovery that the client prefers over the plain documents, if any. */
function aggregatedVersion(accept: string | undefined): "v2" | "v2beta1" | undefined {
  if (accept === undefined || !accept.includes("APIGroupDiscoveryList")) return undefined
  for (const { type, subtype, params } of parseAccept(accept)) {
    if (type !== "application" || subtype !== "json") continue
    if (params.get("as") === undefined) return undefined
    const version = params.get("v")
    if (
      params.get("g") === "apidiscovery.k8s.io" &&
      params.get("as") === "APIGroupDiscoveryList" &&
      (version === "v2" || version === "v2beta1")
    )
      return version
  }
  return undefined
}

function indexOf(named: readonly ListedGroup[]): readonly string[] {
  const groups = named.flatMap(({ name, versions }) =>
    name === "" ? ["/api", "/api/v1"] : [`/apis/${name}`, ...versions.map(({ version }) => `/apis/${name}/${version}`)],
  )
  return [
    "/.well-known/openid-configuration",
    ...groups,
    "/apis",
    "/healthz",
    "/livez",
    "/metrics",
    "/metrics/resources",
    "/metrics/slis",
    "/openapi/v2",
    "/openapi/v3",
    "/openid/v1/jwks",
    "/readyz",
    "/version",
  ].sort()
}
