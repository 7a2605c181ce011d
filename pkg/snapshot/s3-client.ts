/**
 * The few requests to S3-compatible storage that snapshots need. The bucket is in the path of URLs, which every such
 * storage accepts. Bun has an S3 client too, but it cannot use a private certificate authority.
 */
import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import { Agent as HttpAgent, request as http, type ClientRequest, type IncomingMessage } from "node:http"
import { Agent as HttpsAgent, request as https } from "node:https"
import { pipeline } from "node:stream/promises"
import aws4 from "aws4"
import type { Clock } from "../clock/clock.ts"
import { trusting } from "../pki/trust.ts"
import { onUnwantedUpgrade } from "../runtime/http/unwanted-upgrade.ts"

export interface S3Config {
  /** A host, with a port if it is not the default one. */
  readonly endpoint: string
  readonly region: string
  readonly bucket: string
  /** The part of the keys before the names, without slashes at its ends; may be empty. */
  readonly folder: string
  readonly accessKey: string
  readonly secretKey: string
  readonly sessionToken?: string | undefined
  /** Whether requests are sent without TLS. */
  readonly insecure: boolean
  /** Whether the server's certificate is not verified. */
  readonly skipVerify: boolean
  /** The authorities of the server's certificate as PEM; by default those of the system. */
  readonly caPem?: string | undefined
  /** The longest time of a request, in milliseconds. */
  readonly timeoutMs: number
}

export interface S3Request {
  readonly method: "GET" | "PUT" | "POST" | "DELETE" | "HEAD"
  /** The key in the bucket; empty for the bucket itself. */
  readonly key: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  /** A text, or the part of a file that is sent. */
  readonly body?: string | FilePart
}

export interface FilePart {
  readonly path: string
  /** Where the part begins in the file, and its length, in bytes. */
  readonly start: number
  readonly size: number
  readonly sha256: string
}

export interface S3Answer {
  readonly status: number
  readonly headers: IncomingMessage["headers"]
  readonly body: Buffer
}

/** The size of the largest response: a block of a snapshot, or a page of a list. */
const MOST_ANSWER_BYTES = 80 * 2 ** 20
const CLOSED = "the client has been closed"
/** How long `lastRequest` waits, in milliseconds: a server that stops does not wait long for the storage. */
const LAST_MS = 2000

export class S3Client {
  readonly #config: S3Config
  readonly #clock: Clock
  readonly #agent: HttpAgent | HttpsAgent
  readonly #underWay = new Set<ClientRequest>()
  #isClosed = false

  constructor(config: S3Config, clock: Clock) {
    this.#config = config
    this.#clock = clock
    const { insecure, skipVerify, caPem } = config
    this.#agent = insecure
      ? new HttpAgent({ keepAlive: true })
      : new HttpsAgent({
          keepAlive: true,
          ...(skipVerify ? { rejectUnauthorized: false } : trusting(caPem)),
        })
  }

  /** Ends the connections. Requests in progress fail, and so do later ones. */
  close(): void {
    this.#isClosed = true
    for (const sending of this.#underWay) sending.destroy(new Error(CLOSED))
    this.#agent.destroy()
  }

  /**
   * Returns the response, whatever its status.
   * @throws Error that names the endpoint, and never a key or a signature
   */
  async send(request: S3Request): Promise<S3Answer> {
    try {
      if (this.#isClosed) throw new Error(CLOSED)
      return await this.#send(request)
    } catch (cause) {
      const { message } = cause as Error
      throw new Error(`Cannot reach S3 at ${this.#config.endpoint}: ${message}`, { cause })
    }
  }

  /**
   * Returns the response.
   * @throws Error with the code and message of the storage, when the status is none of `wanted`
   */
  async expect(request: S3Request, ...wanted: readonly number[]): Promise<S3Answer> {
    const answer = await this.send(request)
    if (wanted.includes(answer.status)) return answer
    const { endpoint, bucket } = this.#config
    const xml = answer.body.toString("utf8", 0, 16 * 1024)
    const reason = [textOf(xml, "Code"), textOf(xml, "Message")].filter((text) => text !== undefined).join(": ")
    throw new Error(
      `S3 at ${endpoint} refused ${request.method} ${bucket}/${request.key}: ${reason || `status ${answer.status}`}`,
    )
  }

  /** Sends a request that cleans up, even if the client is closed, and waits for its answer for a short time. */
  lastRequest(request: S3Request): Promise<S3Answer> {
    return this.#send(request, LAST_MS)
  }

  async #send(
    { method, key, query = {}, headers = {}, body }: S3Request,
    timeoutMs = this.#config.timeoutMs,
  ): Promise<S3Answer> {
    const { endpoint, bucket, region, insecure, accessKey, secretKey, sessionToken } = this.#config
    const search = new URLSearchParams(query).toString().replaceAll("+", "%20")
    const path = `/${[bucket, ...key.split("/")].map(encodeURIComponent).join("/")}${search === "" ? "" : `?${search}`}`
    const signed = aws4.sign(
      {
        service: "s3",
        region,
        method,
        path,
        host: endpoint,
        headers: {
          ...headers,
          "X-Amz-Date": isoBasic(this.#clock.now()),
          "X-Amz-Content-Sha256": isText(body) ? sha256Of(body ?? "") : body.sha256,
          ...(body === undefined && method !== "POST"
            ? {}
            : { "Content-Length": isText(body) ? Buffer.byteLength(body ?? "") : body.size }),
          ...(isText(body) ? {} : { "Content-Type": "application/zstd" }),
        },
      },
      { accessKeyId: accessKey, secretAccessKey: secretKey, ...(sessionToken === undefined ? {} : { sessionToken }) },
    )
    const { hostname, port } = new URL(`${insecure ? "http" : "https"}://${endpoint}`)
    const options = {
      method,
      path,
      hostname: hostname.replace(/^\[|\]$/g, ""),
      headers: signed.headers ?? {},
      agent: this.#agent,
      ...(port === "" ? {} : { port: Number(port) }),
    }
    const { promise, resolve, reject } = Promise.withResolvers<S3Answer>()
    const sending = (insecure ? http : https)(options, (answer) => void received(answer, method).then(resolve, reject))
    this.#underWay.add(sending)
    const timer = this.#clock.setTimeout(
      () => sending.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)),
      timeoutMs,
      "watchdog",
    )
    sending.on("error", reject)
    onUnwantedUpgrade(sending, reject)
    if (isText(body)) sending.end(body)
    else if (body.size === 0) sending.end()
    else
      pipeline(createReadStream(body.path, { start: body.start, end: body.start + body.size - 1 }), sending).catch(
        reject,
      )
    return promise.finally(() => {
      timer.cancel()
      this.#underWay.delete(sending)
    })
  }
}

const isText = (body: S3Request["body"]): body is string | undefined => typeof body !== "object"

const sha256Of = (text: string): string => createHash("sha256").update(text).digest("hex")

async function received(answer: IncomingMessage, method: S3Request["method"]): Promise<S3Answer> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of answer) {
    parts.push(part as Buffer)
    bytes += (part as Buffer).length
    if (bytes > MOST_ANSWER_BYTES) throw new Error(`the answer to ${method} is larger than ${MOST_ANSWER_BYTES} bytes`)
  }
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(parts) }
}

/** Formats a time as `20260102T030405Z`. */
const isoBasic = (ms: number): string => new Date(ms).toISOString().replace(/[:-]|\.\d{3}/g, "")

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" }

/** Returns the text of the first element of this name in the simple XML of S3's responses. */
export function textOf(xml: string, element: string): string | undefined {
  const start = xml.indexOf(`<${element}>`)
  const end = start === -1 ? -1 : xml.indexOf(`</${element}>`, start)
  if (end === -1) return undefined
  return xml
    .slice(start + element.length + 2, end)
    .replace(/&(amp|lt|gt|quot|apos|#x?[\da-f]{1,6});/gi, (whole, name: string) =>
      name.startsWith("#") ? character(name.slice(1)) : (ENTITIES[name] ?? whole),
    )
}

function character(number: string): string {
  const code = /^x/i.test(number) ? Number.parseInt(number.slice(1), 16) : Number.parseInt(number, 10)
  return code <= 0x10_ff_ff ? String.fromCodePoint(code) : ""
}
