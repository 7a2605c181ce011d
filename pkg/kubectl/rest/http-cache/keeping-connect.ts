import { Buffer } from "node:buffer"
import { Readable } from "node:stream"
import type { Clock } from "../../../clock/clock.ts"
import type { Connect, HttpRequest, HttpResponse } from "../../environment/connect.ts"
import { gunzipped } from "../gunzip.ts"
import { isFresh, isWorthKeeping, variedBy } from "./freshness.ts"
import type { KeptResponses } from "./kept-responses.ts"
import { parseResponse, responseText, type WholeResponse } from "./response-text.ts"

interface Parts {
  readonly connect: Connect
  /** The address under which a response is kept. */
  readonly addressOf: (url: URL) => string
  readonly kept: KeptResponses
  readonly clock: Pick<Clock, "now" | "stillDuring">
}

/** A header that tells, in a log, that a response was not sent anew. */
const FROM_CACHE = "x-from-cache"
/** What stands before the name of a header of the request on which a kept response depends. */
const VARIED = "x-varied-"

/**
 * Returns connections that keep the responses of GET requests, and send only those of which the server has something
 * new to say. Source: client-go third_party/forked/httpcache (Transport.RoundTrip). Differs from upstream: only
 * responses with 200 are kept, and what is kept stays when the server cannot be reached.
 */
export const keepingConnect = (parts: Parts): Connect => ({
  dial: (request) => parts.connect.dial(request),
  send: (request) => (request.method === "GET" ? get(parts, request) : parts.connect.send(request)),
})

async function get({ connect, addressOf, kept, clock }: Parts, request: HttpRequest): Promise<HttpResponse> {
  const address = addressOf(request.url)
  const bytes = await kept.read(address)
  const known = bytes === undefined ? undefined : knownFor(request, parseResponse(bytes))
  if (known !== undefined && isFresh(known.headers, clock.now())) return sent(known)
  const response = await connect.send({ ...request, headers: { ...request.headers, ...validatorsOf(known) } })
  if (response.status === 304 && known !== undefined) {
    for await (const _ of response.body);
    const { "content-length": _, ...headers } = endToEnd(response.headers)
    const current = { ...known, headers: { ...known.headers, ...headers } }
    await kept.write(address, responseText(current))
    return sent(current)
  }
  if (response.status !== 200) return response
  const plain = response.headers["content-encoding"] === "gzip" ? gunzipped(response, clock) : response
  if (isWorthKeeping(plain.headers, clock.now())) {
    const varied = { ...plain, headers: { ...plain.headers, ...variedHeaders(plain, request) } }
    return { ...varied, body: keptAtEnd(varied, (bytes) => kept.write(address, bytes)) }
  }
  if (bytes !== undefined) await kept.remove(address)
  return plain
}

/** The kept response, if it would be the answer of this request too. */
const knownFor = (request: HttpRequest, known: WholeResponse | undefined): WholeResponse | undefined =>
  known?.status === 200 &&
  variedBy(known.headers).every((name) => sentHeader(request, name) === (known.headers[VARIED + name] ?? ""))
    ? { ...known, headers: { ...known.headers, [FROM_CACHE]: "1" } }
    : undefined

/** A header of a request. `Accept-Encoding` counts for none, since responses are kept unpacked, as upstream's are. */
function sentHeader({ headers }: HttpRequest, name: string): string {
  if (name === "accept-encoding") return ""
  const [, value = ""] = Object.entries(headers).find(([each]) => each.toLowerCase() === name) ?? []
  return typeof value === "string" ? value : value.join(", ")
}

/** What the request says in the headers on which the response depends. */
const variedHeaders = ({ headers }: HttpResponse, request: HttpRequest): Readonly<Record<string, string>> =>
  Object.fromEntries(
    variedBy(headers)
      .map((name) => [VARIED + name, sentHeader(request, name)] as const)
      .filter(([, value]) => value !== ""),
  )

/** The headers that are not about the connection. */
function endToEnd(headers: HttpResponse["headers"]): HttpResponse["headers"] {
  const { connection: _, "keep-alive": __, "transfer-encoding": ___, ...rest } = headers
  return rest
}

const validatorsOf = (known: WholeResponse | undefined): Readonly<Record<string, string>> => ({
  ...(known?.headers["etag"] === undefined ? {} : { "If-None-Match": known.headers["etag"] }),
  ...(known?.headers["last-modified"] === undefined ? {} : { "If-Modified-Since": known.headers["last-modified"] }),
})

const sent = (response: WholeResponse): HttpResponse => ({
  ...response,
  body: Readable.from([response.body]),
  cancel: () => undefined,
})

/** The body of a response, which `keep` gets when all of it has been read. */
async function* keptAtEnd(
  response: HttpResponse,
  keep: (bytes: Uint8Array) => Promise<void>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const parts: Uint8Array[] = []
  for await (const part of response.body) {
    parts.push(part)
    yield part
  }
  await keep(responseText({ ...response, headers: endToEnd(response.headers), body: Buffer.concat(parts) }))
}
