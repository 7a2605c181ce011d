import { request as httpRequest, type IncomingMessage } from "node:http"
import { request as httpsRequest } from "node:https"
import type { Clock } from "../../pkg/clock/clock.ts"
import { trusting } from "../../pkg/pki/trust.ts"

export interface DownloadOptions {
  readonly clock: Clock
  /** `Basic …` or `Bearer …`; sent to the host of `home` only, and there not without TLS if that is with it, unless `sendsToAll`. */
  readonly authorization?: string | undefined
  /** The address whose server may see the credentials; by default the first one. */
  readonly home?: string | undefined
  readonly sendsToAll?: boolean | undefined
  readonly caPem?: string | undefined
  readonly skipVerify?: boolean | undefined
  readonly accept?: string
}

export interface Downloaded {
  readonly status: number
  readonly headers: IncomingMessage["headers"]
  readonly body: Buffer
  readonly url: URL
}

/** The most bytes of a chart, or of the index of a repository. */
const MOST_BYTES = 64 * 1024 * 1024
const MOST_REDIRECTS = 5
/** The longest silence, and the longest time of one answer, in milliseconds. */
const TIMEOUT_MS = 60_000
const LONGEST_MS = 300_000

/** Gets an address over HTTP or HTTPS, and follows redirects. @throws Error that names it */
export async function download(address: string, options: DownloadOptions): Promise<Downloaded> {
  const first = new URL(address)
  const home = options.home === undefined ? first : new URL(options.home)
  let url = first
  for (let i = 0; i <= MOST_REDIRECTS; i++) {
    const isTrusted = isSameServer(url, home) || options.sendsToAll === true
    const answer = await get(url, isTrusted ? options : { ...options, authorization: undefined })
    const { location } = answer.headers
    if (answer.status < 300 || answer.status > 399 || location === undefined) return answer
    const next = new URL(location, url)
    if (url.protocol === "https:" && next.protocol !== "https:")
      throw new Error(`${url.origin} redirects to an address without TLS`)
    url = next
  }
  throw new Error(`${first.origin} redirects more than ${MOST_REDIRECTS} times`)
}

const isSameServer = (url: URL, home: URL): boolean =>
  url.host === home.host && (url.protocol === "https:" || url.protocol === home.protocol)

function get(url: URL, { clock, authorization, caPem, skipVerify, accept }: DownloadOptions): Promise<Downloaded> {
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new Error(`${url.protocol}// is no protocol for charts: use https, http or oci`)
  const headers = {
    "user-agent": "Helm/3.18.6",
    ...(accept === undefined ? {} : { accept }),
    ...(authorization === undefined ? {} : { authorization }),
  }
  return new Promise((resolve, reject) => {
    const fail = (err: Error) =>
      reject(new Error(`cannot get ${url.origin}${url.pathname}: ${err.message}`, { cause: err }))
    const options = { headers, timeout: TIMEOUT_MS }
    const request =
      url.protocol === "http:"
        ? httpRequest(url, options)
        : httpsRequest(url, { ...options, ...(skipVerify === true ? { rejectUnauthorized: false } : trusting(caPem)) })
    const longest = clock.setTimeout(() => request.destroy(new Error("it takes too long")), LONGEST_MS)
    request.on("close", () => longest.cancel())
    request.on("error", fail)
    request.on("timeout", () => request.destroy(new Error("it does not answer")))
    request.on("response", (response) => {
      const parts: Buffer[] = []
      let size = 0
      response.on("data", (part: Buffer) => {
        size += part.length
        if (size > MOST_BYTES) request.destroy(new Error(`the answer has more than ${MOST_BYTES} bytes`))
        else parts.push(part)
      })
      response.on("error", fail)
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts), url }),
      )
    })
    request.end()
  })
}
