import { Agent } from "node:https"
import type { Clock } from "../../../pkg/clock/clock.ts"
import { trusting } from "../../../pkg/pki/trust.ts"
import { addressOf, exchange, serverName } from "./exchange.ts"
import { MOST_REDIRECTS, redirectOf, type Hop } from "./redirect.ts"

export interface GetOptions {
  /** The authorities of the other side as PEM; those of the system unless given. */
  readonly caPem: string | undefined
  readonly clock: Clock
  /** For all redirects together. */
  readonly timeoutMs: number
  readonly mostBytes: number
}

/**
 * Gets a document of JSON over HTTPS, within limits of time and size. Redirects are followed, with the same trust.
 * Differs from Go's client: never to plain HTTP.
 * @throws Error that names the URL, and why there is no document
 */
export async function getJson(url: string, { caPem, clock, timeoutMs, mostBytes }: GetOptions): Promise<unknown> {
  const until = clock.monotonic() + timeoutMs
  const agent = new Agent({ ...trusting(caPem), maxSockets: 1 })
  try {
    let hop: Hop = { url: new URL(url), method: "GET" }
    for (let redirects = 0; ; redirects++) {
      const { href, protocol, host, hostname, pathname, search } = hop.url
      const failed = (why: string) => new Error(`Get ${JSON.stringify(href)}: ${why}`)
      if (protocol !== "https:") throw failed("it is not reached by https")
      if (redirects > MOST_REDIRECTS) throw failed(`stopped after ${MOST_REDIRECTS} redirects`)
      const { code, answer, location } = await exchange(
        {
          ...addressOf(hop.url),
          ...serverName(hostname),
          protocol,
          path: pathname + search,
          method: "GET",
          agent,
          headers: { host, accept: "application/json" },
        },
        undefined,
        { clock, timeoutMs: until - clock.monotonic(), failed, mostBytes },
      )
      const next = redirectOf(code, location, hop)
      if (next !== undefined) {
        hop = next
        continue
      }
      if (code !== 200) throw failed(`it answered with ${code}`)
      try {
        return JSON.parse(answer) as unknown
      } catch {
        throw failed("the answer is no JSON")
      }
    }
  } finally {
    agent.destroy()
  }
}
