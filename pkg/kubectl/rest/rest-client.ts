import { Buffer } from "node:buffer"
import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { jsonFault } from "../../apimachinery/json/json-fault.ts"
import { formatDuration } from "../../apimachinery/scalars/time.ts"
import { sleep, type Timer } from "../../clock/clock.ts"
import { errorMessage } from "../../errors/error-message.ts"
import { shownUrl, type RestConfig } from "../config/rest-config.ts"
import type { Connect, HttpRequest, HttpResponse } from "../environment/connect.ts"
import type { Environment } from "../environment/environment.ts"
import { DeadlineExceeded, UrlError } from "../errors/errors.ts"
import { NO_HISTORY, StatusError } from "../errors/status-error.ts"
import type { Credentials } from "./credentials.ts"
import { gunzipped } from "./gunzip.ts"
import { parseJson, type Unstructured } from "./json.ts"
import type { RestRequest } from "./rest-request.ts"
import { statusErrorOf, statusIn, unreadErrorOf } from "./response-error.ts"
import { BROKEN_RETRY_MS, isBroken, MOST_RETRIES, withPrevious } from "./retry.ts"
import type { RequestLog } from "./request-log.ts"
import type { Warnings } from "./warnings.ts"
import { watchEvents, type WatchEvent } from "./watch-events.ts"

/** A path behind that of a version: `/api/v1/pods`. */
const IS_RESOURCE = /^\/(?:api\/[^/]+|apis\/[^/]+\/[^/]+)\/./

/** The types of bodies that are read as JSON. */
const DECODED_TYPE = /^\s*application\/(?:json|[^;]*\+json)\s*(?:;|$)/i

/** An answer with all of its body. */
export interface WholeAnswer {
  readonly response: HttpResponse
  readonly body: Uint8Array
}

const isRefusal = ({ response: { status } }: WholeAnswer): boolean => status < 200 || status > 206

/** Sends requests with kubectl's headers, and reads answers. */
export class RestClient {
  readonly config: RestConfig
  readonly #environment: Pick<Environment, "clock" | "connect">
  readonly #parts: {
    readonly headers: Readonly<Record<string, string>>
    readonly credentials: Credentials
    readonly warnings: Warnings
    readonly log: RequestLog
    /** Looks at each object that is answered. */
    readonly check?: (object: Unstructured) => void
  }

  /** The check of the files of the client's certificate. */
  #checked: Promise<void> | undefined

  constructor(
    environment: Pick<Environment, "clock" | "connect">,
    config: RestConfig,
    parts: {
      readonly headers: Readonly<Record<string, string>>
      readonly credentials: Credentials
      readonly warnings: Warnings
      readonly log: RequestLog
      readonly check?: (object: Unstructured) => void
    },
  ) {
    this.#environment = environment
    this.config = config
    this.#parts = parts
  }

  /** Returns a client of the same server and user over other connections. */
  over(connect: Connect): RestClient {
    return new RestClient({ clock: this.#environment.clock, connect }, this.config, this.#parts)
  }

  /** Returns a client of the same server and user which has `check` look at each object that is answered. */
  accepting(check: (object: Unstructured) => void): RestClient {
    return new RestClient(this.#environment, this.config, { ...this.#parts, check })
  }

  /** The address of a request. */
  url({ path, query = {}, timeoutMs = this.config.timeoutMs }: Pick<RestRequest, "path" | "query" | "timeoutMs">): URL {
    const url = new URL(this.config.server)
    const at = path.indexOf("?")
    const prefix = url.pathname.replace(/\/$/, "")
    url.pathname = prefix + this.#past(path) + (at === -1 ? path : path.slice(0, at))
    const parameters: NonNullable<RestRequest["query"]> = {
      ...query,
      ...(timeoutMs === undefined ? {} : { timeout: formatDuration(timeoutMs) }),
    }
    const pairs = Object.keys(parameters)
      .sort()
      .flatMap((name) => [parameters[name] ?? []].flat().map((value) => [name, value] as const))
    const own = at === -1 ? "" : path.slice(at + 1)
    const added = pairs.map(([name, value]) => `${goQueryEscape(name)}=${goQueryEscape(value)}`).join("&")
    url.search = [own, added].filter((each) => each !== "").join("&")
    return url
  }

  /** What stands before the path of objects of the past. What the server has is that of now. */
  #past(path: string): string {
    const { at } = this.config
    return at !== undefined && IS_RESOURCE.test(path) ? `/k3ts/at/${encodeURIComponent(at)}` : ""
  }

  /** What an answer means that is none. A server that knows nothing of the past does not know the paths of it. */
  #errorOf(request: RestRequest, response: HttpResponse, body: Uint8Array): Error {
    if (
      response.status === 404 &&
      this.#past(request.path) !== "" &&
      statusIn(new TextDecoder().decode(body)) === undefined
    )
      return new Error(NO_HISTORY)
    return statusErrorOf(request, response, body)
  }

  /** The headers of a request, with those that say who sends it. */
  async headersOf({
    accept = "application/json",
    headers = {},
  }: Pick<RestRequest, "accept" | "headers">): Promise<Record<string, string | readonly string[]>> {
    const { impersonate, disableCompression } = this.config
    const { user, uid, groups, extra } = impersonate ?? { user: "", uid: "", groups: [], extra: {} }
    return {
      Accept: accept,
      ...(disableCompression ? {} : { "Accept-Encoding": "gzip" }),
      ...this.#parts.headers,
      ...(await this.#parts.credentials.headers()),
      ...(user === "" ? {} : { "Impersonate-User": user }),
      ...(uid === "" ? {} : { "Impersonate-Uid": uid }),
      ...(groups.length === 0 ? {} : { "Impersonate-Group": groups }),
      ...Object.fromEntries(
        Object.entries(extra).map(([key, values]) => [`Impersonate-Extra-${encodeURIComponent(key)}`, values]),
      ),
      ...headers,
    }
  }

  /**
   * What a connection needs for TLS: the trust of the kubeconfig and the certificate of the user.
   * @throws Error in Go's words for files that are no certificate and key
   */
  async tls(): Promise<RestConfig["tls"]> {
    if (this.config.hasCertFiles === true)
      await (this.#checked ??= import("../config/check-tls.ts").then(({ checkPair }) => checkPair(this.config.tls)))
    return { ...this.config.tls, ...(await this.#parts.credentials.certificate()) }
  }

  /**
   * Sends a request, and again where the server asks to wait. One whose answer is of use only as a whole (`isWhole`) is
   * also sent again where the connection breaks.
   * @throws UrlError when there is no answer
   */
  async send(request: RestRequest, isWhole = false): Promise<HttpResponse> {
    const url = this.url(request)
    const { method } = request
    let previous: UrlError | undefined
    for (let retries = 0; ; retries++) {
      const headers = await this.#identified(request, url)
      let response: HttpResponse
      try {
        response = await this.#once(request, url, headers, isWhole)
      } catch (err) {
        if (!isWhole || retries >= MOST_RETRIES || !isBroken(request, err)) throw withPrevious(err, previous)
        previous = err
        await sleep(this.#environment.clock, BROKEN_RETRY_MS, request.signal)
        continue
      }
      this.#parts.warnings.received(response.warnings)
      if (response.status === 401 && (await this.#parts.credentials.refresh()) && retries === 0) {
        response.cancel()
        continue
      }
      const wait = Number(response.headers["retry-after"] ?? "")
      const asksToWait =
        (response.status === 429 || response.status >= 500) && response.headers["retry-after"] !== undefined
      if (!asksToWait || !Number.isInteger(wait) || retries >= MOST_RETRIES || method === "OPTIONS") return response
      response.cancel()
      await sleep(this.#environment.clock, wait * 1000, request.signal)
    }
  }

  /** The headers of a request; that there are no credentials is an error of the request. */
  async #identified(request: RestRequest, url: URL): Promise<Record<string, string | readonly string[]>> {
    const { method, body, contentType = "application/json" } = request
    try {
      return { ...(await this.headersOf(request)), ...(body === undefined ? {} : { "Content-Type": contentType }) }
    } catch (err) {
      throw new UrlError(operationOf(method), shownUrl(url, this.config), err as Error)
    }
  }

  async #once(
    request: RestRequest,
    url: URL,
    headers: Record<string, string | readonly string[]>,
    isWhole: boolean,
  ): Promise<HttpResponse> {
    const { method, body } = request
    const { clock, connect } = this.#environment
    const timeoutMs = request.timeoutMs ?? this.config.timeoutMs
    const controller = new AbortController()
    const timer =
      timeoutMs === undefined
        ? undefined
        : clock.setTimeout(() => controller.abort(new DeadlineExceeded(NO_HEADERS)), timeoutMs, "watchdog")
    const signal =
      request.signal === undefined ? controller.signal : AbortSignal.any([controller.signal, request.signal])
    const finish = this.#parts.log.begin(method, shownUrl(url, this.config), headers, body)
    try {
      const sent = await connect.send({
        method,
        url,
        headers,
        tls: await this.tls(),
        signal,
        isWhole,
        ...(body === undefined ? {} : { body }),
        ...(this.config.proxy === undefined ? {} : { proxy: this.config.proxy }),
      })
      const whole = sent.headers["content-encoding"] === "gzip" ? gunzipped(sent, clock) : sent
      finish(whole)
      return timer === undefined ? whole : limited(whole, timer, controller.signal)
    } catch (err) {
      timer?.cancel()
      finish(undefined)
      const reason = controller.signal.aborted ? (controller.signal.reason as Error) : (err as Error)
      if (request.signal?.aborted === true) throw request.signal.reason
      throw new UrlError(operationOf(method), shownUrl(url, this.config), reason)
    }
  }

  /**
   * Sends a request of somebody else with the credentials of the configuration, and returns whatever is answered.
   * Its own headers go before those that say who sends it. Source: kubectl pkg/proxy/proxy_server.go.
   */
  async forward({
    headers,
    ...request
  }: Pick<HttpRequest, "method" | "url" | "parts" | "signal"> & {
    readonly headers: Readonly<Record<string, string | readonly string[]>>
  }): Promise<HttpResponse> {
    const { proxy } = this.config
    const sent = await this.headersOfForwarded(headers)
    const finish = this.#parts.log.begin(request.method, shownUrl(request.url, this.config), sent, undefined)
    const response = await this.#environment.connect.send({
      ...request,
      headers: sent,
      tls: await this.tls(),
      ...(proxy === undefined ? {} : { proxy }),
    })
    finish(response)
    return response
  }

  /** The headers of somebody's request, and of those that say who sends it the ones that it does not have. */
  async headersOfForwarded(
    headers: Readonly<Record<string, string | readonly string[]>>,
  ): Promise<Record<string, string | readonly string[]>> {
    const { Accept: _, "Accept-Encoding": __, ...own } = await this.headersOf({})
    const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()))
    const isImpersonated = names.has("impersonate-user")
    // The headers about the command of this program would say something wrong of somebody else's request.
    const isAdded = (name: string) =>
      !names.has(name.toLowerCase()) &&
      !name.startsWith("Kubectl-") &&
      !(isImpersonated && name.startsWith("Impersonate-"))
    const added = Object.entries(own).filter(([name]) => isAdded(name))
    return { ...headers, ...Object.fromEntries(added) }
  }

  /** Sends a request and returns the bytes of the answer. @throws StatusError, UrlError */
  async bytes(request: RestRequest): Promise<WholeAnswer> {
    const answer = await this.#whole(request)
    if (isRefusal(answer)) throw this.#errorOf(request, answer.response, answer.body)
    return answer
  }

  /**
   * The same for what client-go reads without a type, as discovery: of a refusal it does not read the server's Status.
   * @throws StatusError, UrlError
   */
  async raw(request: RestRequest): Promise<WholeAnswer> {
    const answer = await this.#whole(request)
    if (isRefusal(answer)) throw unreadErrorOf(request, answer.response, answer.body)
    return answer
  }

  async #whole(request: RestRequest): Promise<WholeAnswer> {
    const response = await this.send(request, true)
    const body = await this.#collect(response)
    this.#parts.log.body(body)
    return { response, body }
  }

  /** @throws Error in client-go's words for a body that ends too early */
  async #collect({ body }: HttpResponse): Promise<Uint8Array> {
    const parts: Uint8Array[] = []
    try {
      for await (const part of body) parts.push(part)
    } catch (err) {
      this.#parts.log.bodyFailed(err as Error)
      const message = `unexpected error when reading response body. Please retry. Original error: ${errorMessage(err)}`
      throw new Error(message, { cause: err })
    }
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
  }

  /** Sends a request and returns the object of the answer. @throws StatusError, UrlError */
  async object(request: RestRequest): Promise<Unstructured> {
    const { response, body } = await this.bytes(request)
    const { "content-type": type = "" } = response.headers
    if (type !== "" && !DECODED_TYPE.test(type)) throw new Error(`serializer for ${type} doesn't exist`)
    const text = new TextDecoder().decode(body)
    let value: unknown
    try {
      value = parseJson(text)
    } catch (err) {
      throw new Error(`couldn't get version/kind; json parse error: ${jsonFault(text)}`, { cause: err })
    }
    const object = value as Unstructured
    if (object.kind === "Status" && object["status"] === "Failure")
      throw new StatusError({ code: response.status, ...(object as object) })
    this.#parts.check?.(object)
    return object
  }

  /** Sends a request and returns its answer piece by piece. @throws StatusError, UrlError */
  async stream(request: RestRequest): Promise<HttpResponse> {
    const response = await this.send(request)
    if (response.status >= 200 && response.status <= 206) return response
    throw this.#errorOf(request, response, await this.#collect(response))
  }

  /** Sends a watch and yields its events until the server ends it or `signal` aborts. @throws StatusError, UrlError */
  async *watch(request: RestRequest): AsyncGenerator<WatchEvent, void, undefined> {
    const response = await this.stream(request)
    try {
      yield* watchEvents(response.body)
    } catch (err) {
      // A connection that breaks ends the watch, as upstream's does. Source: apimachinery pkg/watch/streamwatcher.go.
      if (request.signal?.aborted === true) throw request.signal.reason
      if (err instanceof SyntaxError) throw err
      this.#parts.log.watchFailed(err as Error)
    } finally {
      response.cancel()
    }
  }
}

/** Go's words for an answer that takes too long. Source: Go net/http/client.go. */
const NO_HEADERS = "context deadline exceeded"
const NO_BODY = "net/http: request canceled (Client.Timeout or context cancellation while reading body)"

/** The time of a request counts until its body has ended, as that of a watch does. */
function limited(response: HttpResponse, timer: Timer, signal: AbortSignal): HttpResponse {
  async function* read(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for await (const part of response.body) yield part
      if (signal.aborted) throw new DeadlineExceeded(NO_BODY)
    } catch (err) {
      throw signal.aborted ? new DeadlineExceeded(NO_BODY, { cause: err }) : err
    } finally {
      timer.cancel()
    }
  }
  const cancel = () => {
    timer.cancel()
    response.cancel()
  }
  return { ...response, body: read(), cancel }
}

/** Go names requests in its errors by their methods: `Get`. */
export const operationOf = (method: string): string => method[0]! + method.slice(1).toLowerCase()

/** Escapes a part of a query as Go's url.QueryEscape. */
export const goQueryEscape = (text: string): string =>
  encodeURIComponent(text)
    .replaceAll("%20", "+")
    .replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

/** Escapes one segment of a path as Go's url.PathEscape. */
export const pathSegment = (text: string): string =>
  encodeURIComponent(text)
    .replaceAll("%3A", ":")
    .replaceAll("%40", "@")
    .replaceAll("%24", "$")
    .replaceAll("%26", "&")
    .replaceAll("%2B", "+")
    .replaceAll("%3D", "=")

/** @throws Error in the words of client-go when a name cannot be part of a path */
export function checkName(name: string): void {
  if (name === "") throw new Error("resource name may not be empty")
  const problems = [
    ...(name === "." || name === ".."
      ? [`may not be '${name}'`]
      : ["/", "%"].filter((sign) => name.includes(sign)).map((sign) => `may not contain '${sign}'`)),
  ]
  if (problems.length > 0) throw new Error(`invalid resource name ${goQuoted(name)}: [${problems.join(" ")}]`)
}
