import type { UserInfo } from "../call/request.ts"

/**
 * Returns the headers by which a front proxy names the user of a request. Source: client-go transport/round_trippers.go
 * SetAuthProxyHeaders.
 */
export function remoteUserHeaders({ name, uid = "", groups, extra = {} }: UserInfo): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = { "x-remote-user": onTheWire(name) }
  if (uid !== "") headers["x-remote-uid"] = onTheWire(uid)
  if (groups.length > 0) headers["x-remote-group"] = groups.map(onTheWire)
  for (const [key, values] of Object.entries(extra))
    headers[`x-remote-extra-${escapedKey(key)}`] = values.map(onTheWire)
  return headers
}

/** Encodes text as UTF-8 with one character per byte, since node:http writes each character of a header as one byte. */
const onTheWire = (text: string): string => Buffer.from(text, "utf8").toString("latin1")

/**
 * Percent-encodes the bytes that are not allowed in the name of a header. Source: round_trippers.go headerKeyEscape.
 */
const escapedKey = (key: string): string =>
  onTheWire(key).replace(
    /[^!#$&'*+\-.0-9A-Z^_`a-z|~]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
  )
