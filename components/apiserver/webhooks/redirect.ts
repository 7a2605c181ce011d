/** The most redirects that are followed; the next one fails the call. Source: Go net/http defaultCheckRedirect. */
export const MOST_REDIRECTS = 10

export interface Hop {
  readonly url: URL
  readonly method: "POST" | "GET"
}

/**
 * Returns where a response sends the client; undefined when the response is the answer itself. After 307 and 308 the
 * request is sent again as it was, after other redirects as a GET without a body. Source: Go net/http client.go
 * redirectBehavior.
 * @throws Error in Go's words when the location cannot be read, or is one of no scheme that is known
 */
export function redirectOf(code: number, location: string | undefined, from: Hop): Hop | undefined {
  const keepsMethod = code === 307 || code === 308
  if (location === undefined || location === "") return undefined
  if (!keepsMethod && code !== 301 && code !== 302 && code !== 303) return undefined
  if (!URL.canParse(location, from.url)) throw new Error(`failed to parse Location header ${JSON.stringify(location)}`)
  const url = new URL(location, from.url)
  if (url.protocol !== "https:" && url.protocol !== "http:")
    throw new Error(`unsupported protocol scheme ${JSON.stringify(url.protocol.slice(0, -1))}`)
  return { url, method: keepsMethod ? from.method : "GET" }
}
