import { Buffer } from "node:buffer"
import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { sleep } from "../../clock/clock.ts"
import { proxyFromVariables } from "../config/proxy.ts"
import { UrlError } from "../errors/errors.ts"
import type { Environment } from "../environment/environment.ts"

/** How often an address is tried, and how long between the tries in milliseconds. */
const ATTEMPTS = 3
const WAIT_MS = 1000

const MOST_REDIRECTS = 10

/** Returns what is at an address. Source: readHttpWithRetries. @throws Error that names it */
export async function download(environment: Environment, url: URL): Promise<Uint8Array> {
  let failure: unknown
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (attempt > 0) await sleep(environment.clock, WAIT_MS)
    let status: number
    try {
      const response = await getFollowing(environment, url)
      status = response.status
      if (status === 200) return response.body
    } catch (err) {
      failure = new UrlError("Get", url.href, err as Error)
      continue
    }
    failure = new Error(
      `unable to read URL ${goQuoted(url.href)}, server reported ${status} ${statusText(status)}, status code=${status}`,
    )
    if (status < 500) break
  }
  throw failure
}

/** Sends a GET, and again to where the answer points. */
export async function getFollowing(
  environment: Environment,
  from: URL,
): Promise<{ readonly status: number; readonly body: Uint8Array }> {
  let url = from
  for (let redirects = 0; ; redirects++) {
    const proxy = proxyFromVariables(url, environment)
    const response = await environment.connect.send({
      method: "GET",
      url,
      headers: { "User-Agent": "Go-http-client/1.1" },
      tls: {},
      ...(proxy === undefined ? {} : { proxy }),
    })
    const location = response.headers["location"]
    if (response.status >= 300 && response.status < 400 && location !== undefined) {
      response.cancel()
      if (redirects >= MOST_REDIRECTS) throw new Error("stopped after 10 redirects")
      url = new URL(location, url)
      continue
    }
    const parts: Uint8Array[] = []
    for await (const part of response.body) parts.push(part)
    return { status: response.status, body: Buffer.concat(parts) }
  }
}

const STATUS_TEXTS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  410: "Gone",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
}

export const statusText = (status: number): string => STATUS_TEXTS[status] ?? ""
