import { isPending, whenReady, type MaybePromise } from "../call/maybe-promise.ts"
import { ApiError, badRequest } from "../../../pkg/apimachinery/errors.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { formatMicroTime } from "../../../pkg/apimachinery/scalars/time.ts"
import { nextTurn } from "../../../pkg/clock/next-turn.ts"
import { changesBetween } from "../../../pkg/history/changes.ts"
import { maskedChanges } from "../../../pkg/history/masked.ts"
import { writtenBy, type LogEntry, type LogPage } from "../../../pkg/history/entry.ts"
import type { Scheme } from "../../../pkg/api/scheme.ts"
import { StorageError, type Storage, type StorageEvent } from "../../../pkg/storage/storage.ts"
import type { Exchange } from "../call/exchange.ts"
import type { AuthorizationDecision, UserInfo } from "../call/request.ts"
import { isTrue, type RequestInfo } from "../call/request-info.ts"
import { noSuchMethod } from "../call/subresource-verbs.ts"
import { storageKey, storagePrefix, viewOf } from "../cacher/view.ts"
import { resourceOf } from "../http/resource-request.ts"
import { beginning, momentOf } from "./moment.ts"
import type { PastOptions } from "./past-options.ts"
import { REVISIONS_OF_TURN } from "./rewind.ts"

/** The most entries of an answer, and how many it has where the request names no limit. */
const MOST_ENTRIES = 10_000
const USUAL_ENTRIES = 500

/** Which writes a request asks for. */
interface Wanted {
  readonly after: number
  readonly upTo: number
  readonly key?: string
  readonly prefix?: string
  readonly author?: string
  readonly namespace?: string
  /** Returns the resource of an object whose history the user may read. */
  readonly readable: (event: StorageEvent) => MaybePromise<Resource | undefined>
  readonly limit: number
  /** Whether entries have whole objects. */
  readonly objects: boolean
}

/** Answers with the writes that a request asks for, the newest ones where there are more than its limit. */
export async function serveHistory(
  options: PastOptions,
  { exchange, info, user }: { readonly exchange: Exchange; readonly info: RequestInfo; readonly user: UserInfo },
): Promise<void> {
  const { storage, clock } = options.registry
  const wanted = wantedOf(options, info, user)
  const entries: LogEntry[] = []
  let [to, more] = [wanted.upTo, false]
  // From the newest one back, so that a limit ends the reading.
  while (to > wanted.after && !more) {
    const from = Math.max(wanted.after, to - REVISIONS_OF_TURN)
    for (const event of portion(storage, from, to, wanted).toReversed()) {
      const readable = wanted.readable(event)
      const resource = isPending(readable) ? await readable : readable
      if (resource === undefined || (wanted.namespace !== undefined && namespaceOf(event) !== wanted.namespace))
        continue
      if (entries.length === wanted.limit) {
        more = true
        break
      }
      entries.push(entryOf(event, wanted.objects))
    }
    to = from
    if (to > wanted.after) await nextTurn(clock)
  }
  const page: LogPage = {
    begins: beginning(storage),
    revision: storage.revision,
    entries: entries.reverse(),
    more,
  }
  exchange.sendJson(200, page)
}

function portion(storage: Storage, from: number, to: number, { key, prefix, author }: Wanted): readonly StorageEvent[] {
  try {
    return storage.between(from, to, { key, prefix, author })
  } catch (err) {
    if (err instanceof StorageError && err.code === "compacted")
      throw new ApiError("Expired", `too old: the history that is kept begins with revision ${beginning(storage)}`)
    throw err
  }
}

/** @throws ApiError for parameters that are none */
function wantedOf(options: PastOptions, info: RequestInfo, user: UserInfo): Wanted {
  const { storage, clock } = options.registry
  const { query } = info
  const pointOf = (name: string, otherwise: number) => {
    const text = query.get(name) ?? ""
    return text === "" ? otherwise : momentOf(storage, clock, text).revision
  }
  const author = query.get("user") ?? ""
  const namespace = query.get("namespace") ?? ""
  const common = {
    after: pointOf("since", beginning(storage)),
    upTo: pointOf("until", storage.revision),
    limit: limitOf(query.get("limit")),
    objects: isTrue(query.get("objects")),
    ...(author === "" ? {} : { author }),
  }
  if (!info.isResource)
    return { ...common, ...(namespace === "" ? {} : { namespace }), readable: ofAllKinds(options, user) }
  const resource = resourceOf(info, options.scheme)
  if (info.subresource !== "" || !resource.verbs.includes("list")) throw noSuchMethod()
  const ref = { namespace: info.namespace, name: info.name }
  const place =
    info.name === "" ? { prefix: storagePrefix(resource, info.namespace) } : { key: storageKey(resource, ref) }
  return { ...common, ...place, readable: () => resource }
}

function limitOf(text = ""): number {
  if (text === "") return USUAL_ENTRIES
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (limit > 0) return Math.min(limit, MOST_ENTRIES)
  throw badRequest(`limit: ${JSON.stringify(text)}: must be a whole number above 0`)
}

/**
 * Returns which objects of all kinds a user may read: those that the user may list. Leases and Events are left out,
 * which are many and tell of themselves.
 */
function ofAllKinds({ registry, scheme }: PastOptions, user: UserInfo): Wanted["readable"] {
  const kinds = kindsByPrefix(scheme)
  const known = new Map<string, boolean>()
  return (event) => {
    const resource = kinds.get(prefixOf(event.key))
    if (resource === undefined || resource.highChurn === true || resource.ttlSeconds !== undefined) return undefined
    const namespace = namespaceOf(event)
    const place = `${resource.prefix} ${namespace ?? ""}`
    const allowed = known.get(place)
    if (allowed !== undefined) return allowed ? resource : undefined
    const { group, version, plural } = resource
    const attributes = { user, verb: "list", group, version, resource: plural, namespace }
    return whenReady(registry.authorizer.authorize(attributes), (decision: AuthorizationDecision) => {
      known.set(place, decision.allowed)
      return decision.allowed ? resource : undefined
    })
  }
}

const namespaceOf = ({ stored }: StorageEvent): string | undefined => stored.object.metadata.namespace

/** Returns `/registry/<group>/<plural>/` of a key. */
const prefixOf = (key: string): string => key.split("/", 4).join("/") + "/"

function kindsByPrefix({ resources }: Scheme): ReadonlyMap<string, Resource> {
  const found = new Map<string, Resource>()
  for (const resource of resources) {
    const { prefix } = viewOf(resource)
    if (!found.has(prefix)) found.set(prefix, resource)
  }
  return found
}

function entryOf({ revision, type, time, author, stored, previous }: StorageEvent, whole: boolean): LogEntry {
  const { object } = stored
  const before = type === "create" ? undefined : previous?.object
  const after = type === "delete" ? undefined : object
  const { metadata } = object
  return {
    revision,
    time: formatMicroTime(time),
    verb: type,
    user: author,
    ...(after === undefined ? { clients: [], subresource: "" } : writtenBy(before, after, time)),
    apiVersion: object.apiVersion,
    kind: object.kind,
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
    changes: type === "update" ? maskedChanges(changesBetween(before ?? {}, after ?? {}), object) : [],
    ...(whole ? { object, ...(before === undefined ? {} : { previous: before }) } : {}),
  }
}
