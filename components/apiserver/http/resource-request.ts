import { ApiError, badRequest } from "../../../pkg/apimachinery/errors.ts"
import { parseFieldSelector } from "../../../pkg/apimachinery/selectors/fieldselector.ts"
import { goQuoted } from "../../../pkg/apimachinery/go/go-text.ts"
import { rawFieldsOf } from "../../../pkg/apimachinery/json/raw-fields.ts"
import type { Resource, Verb } from "../../../pkg/apimachinery/resource.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import type { ServerMetrics } from "../metrics.ts"
import { isWebSocket } from "../../../pkg/streaming/upgrade.ts"
import type { Grant } from "../call/grant.ts"
import { LARGE, type ApiRequest, type Pipeline, type RequestOptions, type UserInfo } from "../call/request.ts"
import { isNamespaceResource } from "../../../pkg/api/core/v1/namespace.ts"
import type { Scheme } from "../../../pkg/api/scheme.ts"
import { checkSubresource, noSuchMethod, noSuchResource } from "../call/subresource-verbs.ts"
import { decodeBody, decodePatch, type DecodedPatch } from "../codec/decode.ts"
import { encodeResult, type Steps } from "../codec/encode.ts"
import { responseJson } from "../codec/response-json.ts"
import type { Parts } from "../codec/list-bytes.ts"
import type { Exchange } from "../call/exchange.ts"
import {
  CUSTOM_OBJECTS,
  CUSTOM_STREAMS,
  LISTS,
  negotiate,
  OBJECTS,
  objectBody,
  patchBody,
  PLAIN,
  STREAMS,
  type Offer,
} from "../codec/negotiate.ts"
import { headerText } from "../call/header-text.ts"
import { deleteOptionsOf, optionsOf } from "./options.ts"
import { isTrue, type RequestInfo } from "../call/request-info.ts"
import { sendParts } from "./send-parts.ts"
import { frameEncoder } from "./watch/watch.ts"
import { tie, WatchStream } from "./watch/watch-stream.ts"
import { nextTurn } from "../../../pkg/clock/next-turn.ts"
import { whenReady } from "../call/maybe-promise.ts"

/** An authorized request for a resource. */
export interface ResourceCall {
  readonly exchange: Exchange
  readonly info: RequestInfo
  readonly user: UserInfo
  /** Empty for verbs without one. */
  readonly body: Uint8Array
  readonly grant: Grant
}

export interface ResourceRequestOptions {
  readonly pipeline: Pipeline
  readonly scheme: Scheme
  readonly clock: Clock
  /** Returns the seconds of a watch without timeoutSeconds; undefined for no limit. */
  readonly watchSeconds: () => number | undefined
  readonly metrics: Pick<ServerMetrics, "watchEvents" | "deprecatedRequested" | "watchListed">
}

/**
 * Returns the resource of a path, if it supports the verb. Throws NotFound and MethodNotAllowed. Called after
 * authorization.
 */
export function resourceOf(info: RequestInfo, scheme: Scheme): Resource {
  const resource = scheme.resource(info.group, info.version, info.resource)
  if (resource === undefined) throw noSuchResource()
  const { namespace, name, subresource, verb, rest } = info
  // Only proxies have paths below them.
  if (rest !== "" && rest !== "/") throw noSuchResource()
  const namespaced = resource.scope === "Namespaced"
  // Across all namespaces objects can only be listed and watched.
  if (namespaced && namespace === "" && name !== "") throw noSuchResource()
  // A custom kind of this plural cannot be read by name, as in Kubernetes.
  if (!namespaced && namespace !== "" && !isNamespaceResource(resource)) throw noSuchResource()
  if (subresource === "") {
    const collection = verb === "list" || verb === "create" || verb === "deletecollection"
    if (collection !== (name === "") && verb !== "watch") throw noSuchMethod()
    if (namespaced && namespace === "" && verb !== "list" && verb !== "watch") throw noSuchMethod()
    if (!resource.verbs.includes(verb as Verb)) throw noSuchMethod()
    return resource
  }
  checkSubresource(resource, subresource, verb)
  return resource
}

/** Source: apimachinery pkg/api/validation/path, and registry/generic/registry/store.go NamespaceKeyFunc. */
function checkNameInPath(name: string): void {
  const refuse = (why: string) => badRequest(`Name parameter invalid: ${goQuoted(name)}: ${why}`)
  if (name === "." || name === "..") throw refuse(`may not be '${name}'`)
  if (name.includes("%")) throw refuse("may not contain '%'")
}

/**
 * Turns the HTTP request for a resource into an ApiRequest, passes it to the pipeline and sends the response. Reads are
 * answered in the same turn of the event loop.
 */
export function serveResource(
  call: ResourceCall,
  resource: Resource,
  options: ResourceRequestOptions,
): void | Promise<void> {
  const { exchange, info, body } = call
  const { verb, name } = info
  checkNameInPath(name)
  if (verb === "watch") return serveWatch(exchange, request(call, resource, options), options)
  // A response form that does not exist is refused before anything is changed.
  const accepted = negotiate(exchange.header("accept"), offerOf(resource, verb))
  if (accepted.as === "Table") includeObjectOf(exchange)
  switch (verb) {
    case "create":
    case "update":
      return withObject(exchange, request(call, resource, options), body, options)
    case "patch": {
      const type = patchBody(exchange.header("content-type"), resource.definition !== undefined)
      return withPatch(exchange, request(call, resource, options, type === "apply-patch"), body, type, options)
    }
    case "delete":
    case "deletecollection":
      return withDeleteOptions(exchange, request(call, resource, options), body, options)
    case "get":
      // The deprecated ?export asks for an object without the fields that its cluster sets.
      if (info.subresource === "" && isTrue(info.query.get("export")))
        throw badRequest("the export parameter, deprecated since v1.14, is no longer supported")
      return answer(exchange, request(call, resource, options), options)
    default:
      return answer(exchange, request(call, resource, options), options)
  }
}

const offerOf = ({ verbs, definition }: Resource, verb: string): Offer =>
  definition !== undefined ? CUSTOM_OBJECTS : !verbs.includes("list") ? PLAIN : verb === "list" ? LISTS : OBJECTS

function request(
  { exchange, info, user, grant }: ResourceCall,
  resource: Resource,
  options: Pick<ResourceRequestOptions, "metrics">,
  isApply = false,
): ApiRequest {
  const { verb, query, namespace, name, subresource } = info
  if (resource.deprecated !== undefined) {
    exchange.warn(resource.deprecated)
    options.metrics.deprecatedRequested(resource, subresource)
    exchange.annotate?.("k8s.io/deprecated", "true")
  }
  return {
    user,
    verb: verb as Verb,
    resource,
    subresource: subresource === "" ? undefined : subresource,
    namespace: namespace === "" ? undefined : namespace,
    name: name === "" ? undefined : name,
    options: optionsOf(query, verb, isApply),
    warn: exchange.warn,
    annotate: exchange.annotate,
    waited: exchange.waited,
    requested: exchange.notes?.requested,
    grant,
    ...(info.past?.wants === "restore" ? { restores: true as const } : {}),
    ...userAgentOf(exchange),
  }
}

function userAgentOf(exchange: Exchange): { userAgent?: string } {
  const userAgent = exchange.header("user-agent")
  return userAgent === undefined ? {} : { userAgent: headerText(userAgent) }
}

async function withObject(
  exchange: Exchange,
  request: ApiRequest,
  body: Uint8Array,
  options: ResourceRequestOptions,
): Promise<void> {
  const encoding = objectBody(exchange.header("content-type"), OBJECTS.encodings)
  const { value, faults } = await decodeBody(body, {
    encoding,
    scheme: options.scheme,
    kind: kindOf(request.resource, request.subresource),
    mustBeTyped: request.resource.definition !== undefined && request.subresource !== "scale",
    rawFields: rawFieldsOf(request.resource.schema),
  })
  const sent = { ...sized(request, body), body: value }
  return answer(exchange, faults.length === 0 ? sent : { ...sent, bodyFaults: faults }, options)
}

const sized = (request: ApiRequest, { length }: Uint8Array): ApiRequest =>
  length > LARGE ? { ...request, isLarge: true } : request

/** The kind of the object in the body of a request. */
function kindOf({ kind, subresources }: Resource, subresource: string | undefined): string {
  if (subresource === undefined) return kind
  return subresources?.other?.[subresource]?.kind ?? (subresource === "scale" ? "Scale" : kind)
}

async function withPatch(
  exchange: Exchange,
  request: ApiRequest,
  body: Uint8Array,
  type: ReturnType<typeof patchBody>,
  options: ResourceRequestOptions,
): Promise<void> {
  const record = (sent: () => unknown) => {
    const shown = exchange.notes?.showsRequest === true ? sent() : undefined
    if (shown !== undefined) exchange.notes!.requestedAs(shown)
  }
  const { patch, faults, patchFault } = await decodePatch(body, type).catch((err: unknown) => {
    // As upstream: the patch is recorded before it is known whether it is one.
    record(() => jsonIn(body))
    return unreadPatch(type, err)
  })
  // An application without a field manager is refused before that.
  if (patchFault === undefined && (patch.type !== "apply" || request.options.fieldManager !== undefined))
    record(() => patch.body)
  return answer(
    exchange,
    {
      ...sized(request, body),
      patch,
      ...(faults.length === 0 ? {} : { bodyFaults: faults }),
      ...(patchFault === undefined ? {} : { patchFault }),
    },
    options,
  )
}

/** Returns what stands for a patch that cannot be read. An application is refused at once. @throws ApiError */
function unreadPatch(type: ReturnType<typeof patchBody>, err: unknown): DecodedPatch {
  if (type === "apply-patch" || !(err instanceof ApiError)) throw err
  return { patch: { type: "merge", body: {} }, faults: [], patchFault: err }
}

/** Returns the value of a text in JSON; undefined for another text. */
function jsonIn(text: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(text).toString())
  } catch {
    return undefined
  }
}

async function withDeleteOptions(
  exchange: Exchange,
  request: ApiRequest,
  body: Uint8Array,
  options: ResourceRequestOptions,
): Promise<void> {
  if (body.length === 0) return answer(exchange, request, options)
  const encoding = objectBody(exchange.header("content-type"), OBJECTS.encodings)
  const { value } = await decodeBody(body, { encoding, scheme: options.scheme, kind: undefined })
  if (exchange.notes?.showsRequest === true) exchange.notes.requestedAs(value)
  return answer(exchange, { ...request, options: deleteOptionsOf(request.options, value) }, options)
}

function answer(exchange: Exchange, request: ApiRequest, options: ResourceRequestOptions): void | Promise<void> {
  return whenReady(options.pipeline.handle(request), (result) => send(exchange, request, result, options))
}

function send(
  exchange: Exchange,
  { resource, verb }: ApiRequest,
  result: Awaited<ReturnType<Pipeline["handle"]>>,
  { clock, scheme }: ResourceRequestOptions,
): void | Promise<void> {
  const accepted = negotiate(exchange.header("accept"), offerOf(resource, verb))
  const encoding = {
    accepted,
    scheme,
    pretty: accepted.pretty || exchange.pretty(),
    now: clock.now(),
    includeObject: accepted.as === "Table" ? includeObjectOf(exchange) : "Metadata",
  } as const
  const { notes } = exchange
  if (notes !== undefined) {
    if (result.kind === "status") notes.status = result.status
    if (notes.showsResponse)
      notes.responseObject = responseJson(result, resource, encoding, notes.decision?.omitManagedFields === true)
  }
  const { contentType, body } = encodeResult(result, resource, encoding)
  const code = result.kind === "list" ? 200 : result.code
  if (typeof body === "object" && "pieces" in body) return sendParts(exchange, code, contentType, body, clock)
  if (typeof body === "object" && "steps" in body) return sendWhenMade(exchange, code, contentType, body, clock)
  exchange.send(code, contentType, body)
}

/**
 * Sends a body that is made in steps, between which other requests are served, each piece when the client has read the
 * one before. A short one is sent in this turn.
 */
function sendWhenMade(
  exchange: Exchange,
  code: number,
  contentType: string,
  { steps }: Steps,
  clock: Pick<Clock, "afterTurn">,
): void | Promise<void> {
  const { done, value } = steps.next()
  if (done === true) return exchange.send(code, contentType, value)
  return later(value)

  async function later(first: Uint8Array | undefined): Promise<void> {
    for (let piece = first; ;) {
      if (piece !== undefined) return sendParts(exchange, code, contentType, rest(piece), clock)
      await nextTurn(clock)
      if (exchange.res.destroyed) return
      const { done, value } = steps.next()
      if (done === true) return exchange.send(code, contentType, value)
      piece = value
    }
  }

  function rest(first: Uint8Array): Parts {
    return {
      length: undefined,
      *pieces() {
        yield Buffer.from(first.buffer, first.byteOffset, first.byteLength)
        for (;;) {
          const { done, value } = steps.next()
          if (value !== undefined) yield Buffer.from(value.buffer, value.byteOffset, value.byteLength)
          if (done === true) return
        }
      },
    }
  }
}

/** What the rows of a table contain of their objects. Source: apimachinery TableOptions. */
function includeObjectOf(exchange: Exchange): "None" | "Metadata" | "Object" {
  const value = exchange.info?.query.get("includeObject")
  if (value === undefined || value === "" || value === "Metadata") return "Metadata"
  if (value === "None" || value === "Object") return value
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${goQuoted(value)}: must be 'Metadata', 'Object', 'None', or empty`,
  )
}

function serveWatch(exchange: Exchange, request: ApiRequest, options: ResourceRequestOptions): Promise<void> {
  const { resource } = request
  const accepted = negotiate(exchange.header("accept"), resource.definition === undefined ? STREAMS : CUSTOM_STREAMS)
  const encoder = frameEncoder({
    accepted,
    resource,
    includeObject: accepted.as === "Table" ? includeObjectOf(exchange) : "Metadata",
    now: () => options.clock.now(),
  })
  const { metrics, clock } = options
  const events = metrics.watchEvents(resource)
  const { upgrade } = exchange
  if (upgrade !== undefined && isWebSocket(exchange.req))
    return import("./watch/watch-socket.ts").then(({ watchOverWebSocket }) =>
      watchOverWebSocket(exchange, upgrade, watched(request, options.watchSeconds), options.pipeline, encoder, {
        events,
        clock: options.clock,
      }),
    )
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const { info, began } = exchange
  const listed =
    info === undefined || request.options.sendInitialEvents !== true
      ? undefined
      : () => metrics.watchListed(resource, info, (clock.monotonic() - began) / 1000)
  const stream = new WatchStream(exchange, encoder, { events, clock, refuse: reject, listed })
  // Refusals are thrown here, while a response with their code can still be sent.
  const watch = options.pipeline.watch(watched(request, options.watchSeconds), stream)
  stream.begin()
  tie(watch, exchange.res, resolve)
  return promise
}

/**
 * Duration of a watch without timeoutSeconds: 30 to 60 minutes, at random, so that watches that began together do not
 * end together. Source: endpoints/handlers/get.go.
 */
export const usualWatchSeconds = (random: Random): number => 1800 * (1 + random.next())

/** Sets the time of a watch. A watch of a single object by its path, which old clients use, gets a field selector. */
export function watched(request: ApiRequest, watchSeconds: ResourceRequestOptions["watchSeconds"]): ApiRequest {
  const { name, options } = request
  const { timeoutSeconds: asked, ...others } = options
  const seconds = asked || watchSeconds()
  const timed: RequestOptions = seconds === undefined ? others : { ...others, timeoutSeconds: seconds }
  if (name === undefined) return { ...request, options: timed }
  const { fieldSelector = `metadata.name=${name}` } = options
  const named = parseFieldSelector(fieldSelector).find(
    ({ path, operator }) => path === "metadata.name" && operator === "=",
  )
  if (named?.value !== name) throw badRequest("fieldSelector metadata.name doesn't match requested name")
  return { ...request, name: undefined, options: { ...timed, fieldSelector } }
}
