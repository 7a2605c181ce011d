/** Headers of a response, names in lower case. */
type Headers = Readonly<Record<string, string>>

/** What `Cache-Control` says: `{ public: "", "max-age": "3600" }`. */
const cacheControl = (headers: Headers): ReadonlyMap<string, string> =>
  new Map(
    (headers["cache-control"] ?? "").split(",").map((part) => {
      const [name = "", value = ""] = part.split("=", 2)
      return [name.trim(), value.trim()] as const
    }),
  )

/**
 * Whether a kept response may be used without asking the server. `now` is in milliseconds since the epoch. Source:
 * client-go third_party/forked/httpcache (getFreshness).
 */
export function isFresh(headers: Headers, now: number): boolean {
  const control = cacheControl(headers)
  const began = Date.parse(headers["date"] ?? "")
  if (control.has("no-cache") || Number.isNaN(began)) return false
  const maxAge = control.get("max-age")
  const lifetime = maxAge === undefined ? Date.parse(headers["expires"] ?? "") - began : Number(maxAge) * 1000
  return lifetime > now - began
}

/** Whether a response may be kept, and it is of use to keep it: the server can say later that it is still right. */
export const isWorthKeeping = (headers: Headers, now: number): boolean =>
  !cacheControl(headers).has("no-store") &&
  (headers["etag"] !== undefined || headers["last-modified"] !== undefined || isFresh(headers, now))

/** The headers of requests on which a response depends, names in lower case. */
export const variedBy = (headers: Headers): readonly string[] =>
  (headers["vary"] ?? "")
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== "")
