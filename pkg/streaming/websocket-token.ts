import { ApiError } from "../apimachinery/errors.ts"

const PREFIX = "base64url.bearer.authorization.k8s.io."

/**
 * Returns the bearer token among the subprotocols that a WebSocket request offers: browsers cannot set its
 * Authorization header. `values` are those of its Sec-WebSocket-Protocol headers. Undefined when no token is offered.
 * Source: apiserver pkg/authentication/request/websocket/protocol.go.
 * @throws ApiError Unauthorized when there are several tokens, when one is wrongly encoded, or when only a token is
 * offered
 */
export function tokenOfProtocols(values: readonly string[]): string | undefined {
  const offered = protocolsOf(values)
  const [protocol, ...more] = offered.filter((name) => name.startsWith(PREFIX))
  if (protocol === undefined) return undefined
  if (more.length > 0) throw refused("multiple base64.bearer.authorization tokens specified")
  const token = decode(protocol.slice(PREFIX.length))
  if (token === "") return undefined
  // The answer has to name one of the offered protocols, and must not contain the token.
  if (offered.length === 1) throw refused("missing additional subprotocol")
  return token
}

/** Returns the offered subprotocols without any token, as one header value; undefined when no other one is left. */
export function protocolsWithoutToken(values: readonly string[]): string | undefined {
  const kept = protocolsOf(values).filter((name) => !name.startsWith(PREFIX))
  return kept.length === 0 ? undefined : kept.join(", ")
}

const protocolsOf = (values: readonly string[]): readonly string[] =>
  values
    .flatMap((value) => value.split(","))
    .map((name) => name.trim())
    .filter((name) => name !== "")

function decode(text: string): string {
  // base64url without padding never has a length of 4n + 1.
  if (!/^[\w-]*$/.test(text) || text.length % 4 === 1)
    throw refused("invalid base64.bearer.authorization token encoding")
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(text, "base64url"))
  } catch {
    throw refused("invalid base64.bearer.authorization token")
  }
}

const refused = (why: string): ApiError =>
  new ApiError("Unauthorized", "Unauthorized", undefined, { cause: new Error(why) })
