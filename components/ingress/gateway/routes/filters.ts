import type { GRPCRoute } from "../../../../pkg/gateway-api/grpcroute.ts"
import type { HTTPRoute } from "../../../../pkg/gateway-api/httproute.ts"
import { isToken, isValue, withoutSpace, type Field } from "../../messages/head.ts"
import { fieldOf, isFraming } from "../../messages/fields.ts"
import { withoutSlashes } from "../../routing/normal-path.ts"
import type { BackendRef, Changes, FieldChanges, Mirror, PathChange, Redirect, Rewrite } from "../../routing/target.ts"
import type { Reference } from "./backend-refs.ts"

type HttpFilter = NonNullable<HTTPRoute["spec"]["rules"][number]["filters"]>[number]
type GrpcFilter = NonNullable<NonNullable<GRPCRoute["spec"]["rules"]>[number]["filters"]>[number]
export type Filter = HttpFilter | GrpcFilter
type HeaderModifier = NonNullable<Filter["requestHeaderModifier"]>
type PathModifier = NonNullable<NonNullable<HttpFilter["urlRewrite"]>["path"]>

/** The compiled filters of a rule or of one of its backends. */
export interface Filtered {
  readonly changes: Changes
  readonly redirect?: Redirect
  /**
   * Why a filter is not supported. The rule is then answered with 500: with only its other filters applied, requests
   * could be passed on without a change that the owner asked for.
   */
  readonly unsupported?: string
}

/**
 * Compiles the filters. `prefix` is the path of the rule's PathPrefix match; undefined for other matches. `resolveMirror`
 * returns the Service of a mirror; undefined when the reference cannot be used, so that there is no such mirror.
 */
export function filtered(
  filters: readonly Filter[],
  prefix: string | undefined,
  resolveMirror: (reference: Reference) => BackendRef | undefined,
): Filtered {
  let changes: Changes = {}
  const mirrors: Mirror[] = []
  let redirect: Redirect | undefined
  try {
    for (const filter of filters) {
      if (filter.requestHeaderModifier !== undefined)
        changes = { ...changes, request: fieldChanges(filter.requestHeaderModifier) }
      else if (filter.responseHeaderModifier !== undefined)
        changes = { ...changes, answer: fieldChanges(filter.responseHeaderModifier) }
      else if ("urlRewrite" in filter && filter.urlRewrite !== undefined)
        changes = { ...changes, rewrite: rewriteOf(filter.urlRewrite, prefix) }
      else if (filter.requestMirror !== undefined) {
        const to = resolveMirror(filter.requestMirror.backendRef)
        if (to !== undefined) mirrors.push({ to, share: shareOf(filter.requestMirror) })
      } else if ("requestRedirect" in filter && filter.requestRedirect !== undefined) {
        const { scheme, port, statusCode, ...rest } = filter.requestRedirect
        redirect = {
          ...rewriteOf(rest, prefix),
          status: statusCode,
          ...(scheme === undefined ? {} : { scheme }),
          ...(port === undefined ? {} : { port }),
        }
      } else throw new Error(`filters: type ${filter.type} is not supported`)
    }
  } catch (err) {
    return { changes, unsupported: (err as Error).message }
  }
  return {
    changes: mirrors.length === 0 ? changes : { ...changes, mirrors },
    ...(redirect === undefined ? {} : { redirect }),
  }
}

/** Returns the share of requests that a mirror gets, from 0 to 1: all unless the filter says less. */
const shareOf = ({ percent, fraction }: NonNullable<Filter["requestMirror"]>): number =>
  percent !== undefined ? percent / 100 : fraction !== undefined ? fraction.numerator / fraction.denominator : 1

/**
 * @throws Error for a header that frames the message or belongs to the connection, and for a value with a line break
 */
function fieldChanges({ set = [], add = [], remove = [] }: HeaderModifier): FieldChanges {
  const own = (name: string) => {
    if (!isToken(name) || isFraming(name.toLowerCase())) throw new Error(`filters: header ${name} cannot be changed`)
    return name
  }
  const field = ({ name, value }: { readonly name: string; readonly value: string }): Field => {
    if (!isValue(value)) throw new Error(`filters: the value of header ${name} has a character that is not allowed`)
    return fieldOf(own(name), withoutSpace(Buffer.from(value, "utf8").toString("latin1")))
  }
  return {
    set: firstOfName(set).map(field),
    add: firstOfName(add).map(field),
    remove: new Set(remove.map((name) => own(name).toLowerCase())),
  }
}

/** Of entries whose names differ at most in case, the first one counts. Source: HTTPHeaderFilter. */
function firstOfName<T extends { readonly name: string }>(entries: readonly T[]): readonly T[] {
  const byName = new Map<string, T>()
  for (const entry of entries) {
    const key = entry.name.toLowerCase()
    if (!byName.has(key)) byName.set(key, entry)
  }
  return [...byName.values()]
}

/** @throws Error for a path with characters that a path cannot have, and for a prefix replacement without a prefix */
function rewriteOf(
  { hostname, path }: { readonly hostname?: string; readonly path?: PathModifier },
  prefix: string | undefined,
): Rewrite {
  return {
    ...(hostname === undefined ? {} : { hostname }),
    ...(path === undefined ? {} : { path: pathChange(path, prefix) }),
  }
}

function pathChange(
  { replaceFullPath, replacePrefixMatch = "" }: PathModifier,
  prefix: string | undefined,
): PathChange {
  const value = replaceFullPath ?? replacePrefixMatch
  if (!/^[\x21\x22\x24-\x3e\x40-\x7e]*$/.test(value))
    throw new Error(`filters: ${JSON.stringify(value)} is not a path: it must be printable ASCII without ? and #`)
  if (replaceFullPath !== undefined) return { kind: "full", value }
  if (prefix === undefined) throw new Error("filters: replacePrefixMatch needs a match of type PathPrefix")
  return { kind: "prefix", prefix: withoutSlashes(prefix).length, value }
}
