/** A URL as Go's net/url parses it. */
export interface GoUrl {
  readonly scheme: string
  /** With the port. */
  readonly host: string
  /** With its escapes as they were written, if those are valid. */
  readonly escapedPath: string
  readonly query: string
  /** The whole text. */
  readonly text: string
}

/** Parses a URL that can be sent in a request. Returns Go's message as `fault` for others. */
export function parseRequestUri(text: string): GoUrl | { readonly fault: string } {
  const fault = (message: string) => ({ fault: `parse ${JSON.stringify(text)}: ${message}` })
  if (/[\u0000-\u001f\u007f]/.test(text)) return fault("net/url: invalid control character in URL")
  if (text === "") return fault("empty url")
  if (text.startsWith(":")) return fault("missing protocol scheme")
  const [, scheme = ""] = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text) ?? []
  const afterScheme = scheme === "" ? text : text.slice(scheme.length + 1)
  // As in Go, the URL of a request has no fragment; expressions see the URL without it.
  const [rest = "", ...queries] = afterScheme.split("?")
  if (!rest.startsWith("/")) {
    if (scheme === "" && text !== "*") return fault("invalid URI for request")
    return {
      scheme: scheme.toLowerCase(),
      host: "",
      escapedPath: text === "*" ? "*" : "",
      query: queryOf(queries),
      text,
    }
  }
  const hasAuthority = scheme !== "" && rest.startsWith("//")
  const slash = hasAuthority ? rest.indexOf("/", 2) : 0
  const authority = hasAuthority ? rest.slice(2, slash < 0 ? undefined : slash) : ""
  const host = authority.slice(authority.lastIndexOf("@") + 1)
  const hostFault = faultOfHost(host) ?? faultOfUser(authority)
  if (hostFault !== undefined) return fault(hostFault)
  const path = slash < 0 ? "" : rest.slice(slash)
  const badEscape = /%(?![0-9a-fA-F]{2}).{0,2}/.exec(path)?.[0]
  if (badEscape !== undefined) return fault(`invalid URL escape ${JSON.stringify(badEscape)}`)
  const [plainPath = ""] = path.split("#")
  return {
    scheme: scheme.toLowerCase(),
    host: unescapeHost(host),
    escapedPath: escapePath(plainPath),
    query: path.includes("#") ? "" : queryOf(queries),
    text,
  }
}

/** Returns the query without the fragment. */
const queryOf = (parts: readonly string[]): string => parts.join("?").split("#")[0]!

function faultOfUser(authority: string): string | undefined {
  const at = authority.lastIndexOf("@")
  return at < 0 || /^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(authority.slice(0, at))
    ? undefined
    : "net/url: invalid userinfo"
}

function faultOfHost(host: string): string | undefined {
  const bracket = host.startsWith("[") ? host.lastIndexOf("]") : -1
  if (host.startsWith("[") && bracket < 0) return "missing ']' in host"
  const colon = bracket >= 0 ? bracket + 1 : host.lastIndexOf(":")
  const port = colon < 0 ? "" : host.slice(colon)
  if (port !== "" && !/^:[0-9]*$/.test(port)) return `invalid port ${JSON.stringify(port)} after host`
  const name = bracket >= 0 ? host.slice(0, bracket + 1) : colon < 0 ? host : host.slice(0, colon)
  const escape = /%(?![0-9a-fA-F]{2}).{0,2}/.exec(name)?.[0]
  if (escape !== undefined && bracket < 0) return `invalid URL escape ${JSON.stringify(escape)}`
  const bad = /[\u0000- "<>\\^`{|}\u007f]/.exec(name.replaceAll(/%25/g, ""))?.[0]
  return bad === undefined || bad === '"' || bad === "<" || bad === ">"
    ? undefined
    : `invalid character ${JSON.stringify(bad)} in host name`
}

const unescapeHost = (host: string): string =>
  host.replaceAll(/(?:%[0-9a-fA-F]{2})+/g, (escapes) => Buffer.from(escapes.replaceAll("%", ""), "hex").toString())

/** Keeps characters and escapes that Go accepts, and escapes the rest. */
function escapePath(path: string): string {
  if (/^[A-Za-z0-9\-._~!$&'()*+,;=:@/[\]%]*$/.test(path)) return path
  const bytes = Buffer.from(unescapeHost(path))
  return Array.from(bytes, (byte) => {
    const character = String.fromCharCode(byte)
    return /[A-Za-z0-9\-._~$&+,/:;=@]/.test(character)
      ? character
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`
  }).join("")
}

/** Returns the name in a host, without port and brackets. */
export function hostnameOf(host: string): string {
  const [, bracketed] = /^\[(.*)\](?::[0-9]*)?$/.exec(host) ?? []
  return bracketed ?? host.replace(/:[0-9]*$/, "")
}

export const portOf = (host: string): string => /:([0-9]*)$/.exec(host.replace(/^\[.*\]/, ""))?.[1] ?? ""

/** Returns the values of a query by name, in their order. Parts that cannot be unescaped are left out. */
export function parseQuery(query: string): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, string[]>()
  for (const pair of query.split("&")) {
    if (pair === "" || pair.includes(";") || /%(?![0-9a-fA-F]{2})/.test(pair)) continue
    const [key = "", ...rest] = pair.split("=")
    const name = unescapeQuery(key)
    values.set(name, [...(values.get(name) ?? []), unescapeQuery(rest.join("="))])
  }
  return values
}

const unescapeQuery = (text: string): string => unescapeHost(text.replaceAll("+", " "))
