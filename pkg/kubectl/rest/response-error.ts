import { goQuoted } from "../../apimachinery/go/go-text.ts"
import type { HttpResponse } from "../environment/connect.ts"
import { StatusError, type Status } from "../errors/status-error.ts"
import type { RestRequest } from "./rest-request.ts"

/** Returns the error of an answer that is none: the server's Status, or what its code means. */
export function statusErrorOf(
  { method, path }: Pick<RestRequest, "method" | "path">,
  response: HttpResponse,
  body: Uint8Array,
): StatusError {
  const text = new TextDecoder().decode(body)
  const given = statusIn(text)
  if (given !== undefined) return new StatusError({ code: response.status, ...given })
  return new StatusError(genericStatus(response, method, path, text))
}

/** Returns the Status that a server has sent; undefined for other texts. */
export function statusIn(text: string): Status | undefined {
  if (!text.startsWith("{")) return undefined
  try {
    const value = JSON.parse(text) as Status
    return value.kind === "Status" && value.status !== "Success" ? value : undefined
  } catch {
    return undefined
  }
}

const isPlain = (text: string): boolean => text.trim() !== ""

/** Returns the error of an answer that is none, by its code alone, whatever Status the server sends. */
export const unreadErrorOf = (
  { method, path }: Pick<RestRequest, "method" | "path">,
  response: HttpResponse,
  body: Uint8Array,
): StatusError => new StatusError(genericStatus(response, method, path, new TextDecoder().decode(body)))

/** Source: apimachinery pkg/api/errors/errors.go (NewGenericServerResponse). */
function genericStatus({ status: code, headers }: HttpResponse, method: string, path: string, text: string): Status {
  const verb = method.toLowerCase()
  const { group, resource, name } = partsOf(path)
  const server = text.trim() === "" ? "unknown" : text.trim()
  const retry = Number(headers["retry-after"] ?? "0") || 0
  const isText = isPlain(text)
  const plain = (reason: string, message: string): Pick<Status, "reason" | "message"> => ({ reason, message })
  const byCode: Readonly<Record<number, Pick<Status, "reason" | "message">>> = {
    400: plain("BadRequest", "the server rejected our request for an unknown reason"),
    401: plain("Unauthorized", "the server has asked for the client to provide credentials"),
    403: plain("Forbidden", isText ? server : "forbidden"),
    404: plain("NotFound", "the server could not find the requested resource"),
    405: plain("MethodNotAllowed", "the server does not allow this method on the requested resource"),
    406: plain(
      "NotAcceptable",
      isText ? server : "the server was unable to respond with a content type that the client supports",
    ),
    409: plain(method === "POST" ? "AlreadyExists" : "Conflict", "the server reported a conflict"),
    410: plain("Gone", "the server could not find the requested resource"),
    413: plain("RequestEntityTooLarge", "the request is too large"),
    415: plain("UnsupportedMediaType", isText ? server : "the body of the request was in an unknown format"),
    422: plain("Invalid", "the server rejected our request due to an error in our request"),
    429: plain("TooManyRequests", "the server has received too many requests and has asked us to try again later"),
    500: plain(
      "InternalError",
      `an error on the server (${goQuoted(server)}) has prevented the request from succeeding`,
    ),
    503: plain("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: plain(
      "Timeout",
      "the server was unable to return a response in the time allotted, but may still be processing the request",
    ),
  }
  const known = byCode[code]
  const { reason, message } =
    known ??
    (code >= 500
      ? plain("InternalError", `an error on the server (${goQuoted(server)}) has prevented the request from succeeding`)
      : plain("Unknown", `the server responded with the status code ${code} but did not return more information`))
  const about =
    resource === ""
      ? ""
      : name === ""
        ? ` (${verb} ${qualified(resource, group)})`
        : ` (${verb} ${qualified(resource, group)} ${name})`
  return {
    status: "Failure",
    code,
    ...(reason === undefined ? {} : { reason }),
    message: `${message ?? ""}${about}`,
    details: {
      ...(name === "" ? {} : { name }),
      ...(group === "" ? {} : { group }),
      ...(resource === "" ? {} : { kind: resource }),
      ...(retry === 0 ? {} : { retryAfterSeconds: retry }),
    },
  }
}

const qualified = (resource: string, group: string): string => (group === "" ? resource : `${resource}.${group}`)

/** The resource and the name in the path of a request. */
function partsOf(path: string): { readonly group: string; readonly resource: string; readonly name: string } {
  const segments = path
    .split("?", 1)[0]!
    .split("/")
    .filter((segment) => segment !== "")
    .map(decodeURIComponent)
  const none = { group: "", resource: "", name: "" }
  if (segments[0] !== "api" && segments[0] !== "apis") return none
  const group = segments[0] === "apis" ? (segments[1] ?? "") : ""
  const rest = segments.slice(segments[0] === "apis" ? 3 : 2)
  const inNamespace = rest[0] === "namespaces" && rest.length > 2 ? rest.slice(2) : rest
  return inNamespace.length === 0 ? none : { group, resource: inNamespace[0]!, name: inNamespace[1] ?? "" }
}
