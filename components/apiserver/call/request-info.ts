import { badRequest } from "../../../pkg/apimachinery/errors.ts"
import { noSuchResource } from "./subresource-verbs.ts"
import { Query } from "./query.ts"

/**
 * What a request line says: verb, resource and name, before anything is looked up. Authorization works with this.
 * Source: apiserver pkg/endpoints/request/requestinfo.go.
 */
export interface RequestInfo {
  /** The decoded path, without the query. */
  readonly path: string
  readonly query: Query
  /**
   * For resources get, list, watch, create, update, patch, delete, deletecollection; otherwise the method in lower
   * case.
   */
  readonly verb: string
  readonly isResource: boolean
  readonly group: string
  readonly version: string
  /** The plural name. */
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  /** Whether the path begins with the watch prefix of Kubernetes 1.0. */
  readonly legacyWatch: boolean
  /**
   * The path behind the subresource, with its leading slash and still percent-encoded, which a proxy passes on; else
   * empty.
   */
  readonly rest: string
  /** Where a request is for the past; the other fields are then those of the path behind the prefix. */
  readonly past?: PastPath | undefined
}

/** A path below `/k3ts/at/<point>/`, `/k3ts/history` or `/k3ts/restore/`. */
export interface PastPath {
  /**
   * `state`: what there was at `point`. `history`: the writes of what the path behind the prefix names. `restore`: a
   * create or an update that sets who owns which fields, as an object of the past has it.
   */
  readonly wants: "state" | "history" | "restore"
  /** As the client wrote it: a revision, a time, or how long ago; empty unless a state is asked for. */
  readonly point: string
  /** The request target behind the prefix, with its query: `/api/v1/pods?limit=5`. */
  readonly target: string
}

const VERBS: Readonly<Record<string, string>> = {
  GET: "get",
  HEAD: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
}

/** Reads the request line; `url` is the target as it came. Throws BadRequest when it is malformed. */
export function requestInfo(method: string, url: string): RequestInfo {
  if (!url.startsWith(OWN_PATHS)) return plainInfo(method, url)
  const past = pastPath(url)
  return past === undefined ? plainInfo(method, url) : { ...plainInfo(method, past.target), past }
}

const OWN_PATHS = "/k3ts/"

/** Returns what stands before the path of a request for the past; undefined for any other path. */
function pastPath(url: string): PastPath | undefined {
  const state = /^\/k3ts\/at\/([^/?]+)(\/.*)?$/s.exec(url)
  if (state !== null) return { wants: "state", point: segment(state[1]!), target: state[2] ?? "/" }
  const other = /^\/k3ts\/(history|restore)(\/apis?\/.*)$/s.exec(url)
  if (other !== null) return { wants: other[1] as "history" | "restore", point: "", target: other[2]! }
  return /^\/k3ts\/history\/?(\?.*)?$/s.test(url) ? { wants: "history", point: "", target: url } : undefined
}

function plainInfo(method: string, url: string): RequestInfo {
  const mark = url.indexOf("?")
  const rawPath = mark < 0 ? url : url.slice(0, mark)
  const query = new Query(mark < 0 ? "" : url.slice(mark + 1))
  const parts = rawPath.split("/")
  if (rawPath.charCodeAt(0) !== SLASH)
    throw badRequest(`invalid request target "${url.slice(0, 200)}": must begin with "/"`)
  // A trailing slash is ignored: /api/v1/ is /api/v1.
  const end = parts.length > 2 && parts[parts.length - 1] === "" ? parts.length - 1 : parts.length
  const core = parts[1] === "api"
  if (!(core ? end > 3 : parts[1] === "apis" && end > 4)) return nonResource(method, rawPath, query)

  let at = core ? 2 : 3
  const group = core ? "" : segment(parts[2]!)
  const version = segment(parts[at++]!)
  let verb = VERBS[method] ?? ""
  // The watch prefix of Kubernetes 1.0, still served: /api/v1/watch/namespaces/default/pods
  const legacyWatch = parts[at] === "watch"
  if (legacyWatch) {
    verb = "watch"
    at++
    if (at >= end) throw badRequest(`unable to determine kind and namespace from url, ${url}`)
  }
  let namespace = ""
  if (parts[at] === "namespaces" && at + 1 < end) {
    namespace = segment(parts[at + 1]!)
    const after = parts[at + 2]
    if (at + 2 < end && !(after === "status" || after === "finalize")) at += 2
  }
  const resource = segment(parts[at]!)
  const name = at + 1 < end ? segment(parts[at + 1]!) : ""
  const subresource = at + 2 < end ? segment(parts[at + 2]!) : ""
  if (name === "" && !legacyWatch) {
    if (verb === "get") verb = isTrue(query.get("watch")) ? "watch" : "list"
    else if (verb === "delete") verb = "deletecollection"
  }
  const rest = parts.length > at + 3 ? "/" + parts.slice(at + 3).join("/") : ""
  return {
    path: decoded(rawPath),
    query,
    verb,
    isResource: true,
    group,
    version,
    resource,
    subresource,
    namespace,
    name,
    legacyWatch,
    rest,
  }
}

const SLASH = 47

const nonResource = (method: string, rawPath: string, query: Query): RequestInfo => ({
  path: decoded(rawPath),
  query,
  verb: method.toLowerCase(),
  isResource: false,
  group: "",
  version: "",
  resource: "",
  subresource: "",
  namespace: "",
  name: "",
  legacyWatch: false,
  rest: "",
})

/**
 * A boolean parameter is true unless its value is 0 or false: `?watch` and `?watch=1` are. Source: apimachinery
 * pkg/runtime/conversion.go.
 */
export const isTrue = (value: string | undefined): boolean =>
  value !== undefined && value !== "0" && value.toLowerCase() !== "false"

function segment(raw: string): string {
  const text = decoded(raw)
  // A percent-encoded slash must not lead to another path.
  if (text !== raw && (text.includes("/") || text.includes("\0"))) throw noSuchResource()
  return text
}

function decoded(raw: string): string {
  if (!raw.includes("%")) return raw
  try {
    return decodeURIComponent(raw)
  } catch {
    throw badRequest(`invalid URL escape in "${raw.slice(0, 200)}"`)
  }
}
