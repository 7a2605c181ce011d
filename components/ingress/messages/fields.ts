import { withoutSpace, type Field } from "./head.ts"

/** Fields of a single connection, which are not passed on. Source: RFC 9110, 7.6.1. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
])
/** Fields that a Connection header may not remove from a message. */
const KEPT: ReadonlySet<string> = new Set(["host", "content-length", "content-type", "cookie", "authorization"])
/**
 * Fields that only the proxy sets, so that a client cannot forge them; `proxy` would become HTTP_PROXY in CGI programs.
 * Spellings with underscores are included, which CGI and WSGI treat as the same.
 */
const OURS: ReadonlySet<string> = new Set([
  "forwarded",
  "proxy",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-port",
  "x-forwarded-proto",
  "x-forwarded-server",
  "x-forwarded-ssl",
  "x-forwarded-prefix",
  "x-real-ip",
])

/** Whether a field says where a message ends, for whom it is or how it is sent, which only the proxy may say. */
export const isFraming = (key: string): boolean =>
  HOP_BY_HOP.has(key) || key === "host" || key === "content-length" || key === "expect" || key === "trailer"

/**
 * Further fields that a trailer may not have. A server that adds trailers to the fields of the head would take them for
 * checked: for the user, or for the way to read the body. Source: RFC 9110, 6.5.1.
 */
const NOT_IN_TRAILERS: ReadonlySet<string> = new Set([
  "authorization",
  "cache-control",
  "content-encoding",
  "content-range",
  "content-type",
  "cookie",
  "location",
  "max-forwards",
  "range",
  "set-cookie",
  "www-authenticate",
])

/** Whether a name is one of these fields, or looks like one to a program that reads `_` as `-`. */
const isOurs = (key: string): boolean => OURS.has(key.includes("_") ? key.replaceAll("_", "-") : key)

/** Returns the trailers that may be passed on. */
export const trailerFields = (trailers: readonly Field[]): readonly Field[] =>
  trailers.filter(({ key }) => !isFraming(key) && !NOT_IN_TRAILERS.has(key) && !isOurs(key))

/** Who asked, and where. */
export interface Origin {
  /** The address of the client. */
  readonly client: string
  readonly isSecure: boolean
  /** The port at which the request arrived. */
  readonly port: number
  /** The number by which the port was asked for: `port`, or 0 for any. */
  readonly listener: number
  /** The address of this machine on which it came. */
  readonly address: string
  /** The name for which the client asked over TLS; undefined without TLS, and empty for none. */
  readonly serverName: string | undefined
}

/** Returns the fields of a request for a backend, without Host and those that frame the body. */
export function requestFields(fields: readonly Field[], authority: string, origin: Origin): Field[] {
  const named = namedByConnection(fields)
  const kept: Field[] = []
  for (const field of fields) {
    const { key } = field
    if (key === "host" || key === "expect" || key === "content-length" || HOP_BY_HOP.has(key)) {
      if (key === "te" && /(?:^|,)\s*trailers\s*(?:,|$)/i.test(field.value)) kept.push(TE_TRAILERS)
    } else if (named?.has(key) !== true && !isOurs(key)) kept.push(field)
  }
  kept.push(
    fieldOf("X-Forwarded-For", origin.client),
    fieldOf("X-Forwarded-Host", authority),
    fieldOf("X-Forwarded-Port", String(origin.port)),
    fieldOf("X-Forwarded-Proto", origin.isSecure ? "https" : "http"),
    fieldOf("X-Real-IP", origin.client),
  )
  return kept
}

/** Returns the fields of a response for a client. The length of the body is kept, for responses to HEAD. */
export function answerFields(fields: readonly Field[]): Field[] {
  const named = namedByConnection(fields)
  return fields.filter(({ key }) => !HOP_BY_HOP.has(key) && named?.has(key) !== true)
}

export const fieldOf = (name: string, value: string): Field => ({ name, key: name.toLowerCase(), value })

const TE_TRAILERS = fieldOf("TE", "trailers")

function namedByConnection(fields: readonly Field[]): Set<string> | undefined {
  let named: Set<string> | undefined
  for (const { key, value } of fields) {
    if (key !== "connection") continue
    for (const option of value.toLowerCase().split(",")) {
      const name = withoutSpace(option)
      if (name === "" || name === "close" || name === "keep-alive" || name === "upgrade" || KEPT.has(name)) continue
      ;(named ??= new Set()).add(name)
    }
  }
  return named
}
