import { isPending, whenReady, type MaybePromise } from "../call/maybe-promise.ts"
import { ApiError, badRequest } from "../../../pkg/apimachinery/errors.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { formatMicroTime } from "../../../pkg/apimachinery/scalars/time.ts"
import { nextTurn } from "../../../pkg/clock/next-turn.ts"
import { changesBetween } from "../../../pkg/history/changes.ts"
import { maskedChanges } from "../../../pkg/history/masked.ts"
import { writtenBy, type LogEntry, type LogPage } from "../../../pkg/history/entry.ts"
import type { Scheme } from "../../../pkg/api/scheme.ts"
import { StorageError, type StorageEvent } from "../../../pkg/storage/storage.ts"
import type { Exchange } from "../call/exchange.ts"
import type { AuthorizationDecision, UserInfo } from "../call/request.ts"
import { isTrue, type RequestInfo } from "../call/request-info.ts"
import { noSuchMethod } from "../call/subresource-verbs.ts"
import { storageKey, storagePrefix, viewOf } from "../cacher/view.ts"
import { resourceOf } from "../http/resource-request.ts"
import { sendParts } from "../http/send-parts.ts"
import { historyBody } from "./history-body.ts"
import { isFormer } from "./former-namespace.ts"
import { beginning, momentOf } from "./moment.ts"
import type { PastOptions } from "./past-options.ts"
import { revisionsOfTurn } from "./rewind.ts"

/** The most entries of an answer, and how many it has where the request names no limit. */
const MOST_ENTRIES = 10_000
const USUAL_ENTRIES = 500
/** The length of the JSON of all entries after which an answer ends, so that large objects do not fill the memory. */
const MOST_CHARACTERS = 16 * 2 ** 20
/** The most changed fields of an entry. */
const MOST_FIELDS = 10_000
/** The length of the JSON that is read or made in one turn of the event loop: some milliseconds of work. */
const CHARACTERS_OF_TURN = 2 ** 20
/** Parameters by which a list chooses, and rights may be limited to a choice: a history has all objects. */
const SELECTORS = ["fieldSelector", "labelSelector"]

/** Which writes a request asks for. */
interface Wanted {
  readonly after: number
  readonly upTo: number
  readonly key?: string
  readonly prefix?: string
  readonly author?: string
  /** Whether a write belongs to the answer, and the user may read the history of its object. */
  readonly readable: (event: StorageEvent) => MaybePromise<boolean>
  readonly limit: number
  /** Whether entries have whole objects, and whether also those before the write, and what the write has changed. */
  readonly objects: boolean
  readonly previous: boolean
}

/** Answers with the writes that a request asks for, the newest ones where there are more than its limits. */
export async function serveHistory(
  options: PastOptions,
  { exchange, info, user }: { readonly exchange: Exchange; readonly info: RequestInfo; readonly user: UserInfo },
): Promise<void> {
  const { storage, clock } = options.registry
  const { entries, more } = await newest(options, exchange, wantedOf(options, info, user)).catch((err: unknown) => {
    if (err instanceof StorageError && err.code === "compacted")
      throw new ApiError("Expired", `too old: the history that is kept begins with revision ${beginning(storage)}`)
    throw err
  })
  const page: Omit<LogPage, "entries"> = { begins: beginning(storage), revision: storage.revision, more }
  const body = historyBody(page, entries, { indented: exchange.pretty() })
  await sendParts(exchange, 200, "application/json", body, clock)
}

/** Returns the newest writes as JSON, oldest first, and whether there are more. @throws StorageError compacted */
async function newest({ registry: { storage, clock } }: PastOptions, exchange: Exchange, wanted: Wanted) {
  const entries: string[] = []
  let [characters, ofTurn] = [0, 0]
  // From the newest one back, so that a limit ends the reading.
  const portion = revisionsOfTurn(storage)
  for (let to = wanted.upTo; to > wanted.after; to -= portion) {
    const events = [...storage.between(Math.max(wanted.after, to - portion), to, wanted)]
    // Taken from the list, which would keep the values of those that have been read.
    for (let event = events.pop(); event !== undefined; event = events.pop()) {
      const readable = wanted.readable(event)
      if (!(isPending(readable) ? await readable : readable)) continue
      const isFull = entries.length === wanted.limit || characters > MOST_CHARACTERS
      if (isFull || exchange.isOver) return { entries: entries.reverse(), more: true }
      const entry = JSON.stringify(entryOf(event, wanted))
      entries.push(entry)
      characters += entry.length
      ofTurn += Math.max(entry.length, event.stored.bytes ?? 0)
      if (ofTurn < CHARACTERS_OF_TURN) continue
      ofTurn = 0
      await nextTurn(clock)
    }
    await nextTurn(clock)
  }
  return { entries: entries.reverse(), more: false }
}

/** @throws ApiError for parameters that are none */
function wantedOf(options: PastOptions, info: RequestInfo, user: UserInfo): Wanted {
  const { storage, clock } = options.registry
  const { query } = info
  for (const name of SELECTORS)
    if ((query.get(name) ?? "") !== "") throw badRequest(`${name}: a history is that of all objects of a list`)
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
    previous: query.get("previous") !== "false",
    ...(author === "" ? {} : { author }),
  }
  if (!info.isResource) return { ...common, readable: ofAllKinds(options, user, namespace) }
  const resource = resourceOf(info, options.scheme)
  if (info.subresource !== "" || !resource.verbs.includes("list")) throw noSuchMethod()
  const ref = { namespace: info.namespace, name: info.name }
  const place =
    info.name === "" ? { prefix: storagePrefix(resource, info.namespace) } : { key: storageKey(resource, ref) }
  return {
    ...common,
    ...place,
    readable: info.namespace === "" ? () => true : ofOneKind(options, user, info, resource),
  }
}

function limitOf(text = ""): number {
  if (text === "") return USUAL_ENTRIES
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (limit > 0) return Math.min(limit, MOST_ENTRIES)
  throw badRequest(`limit: ${JSON.stringify(text)}: must be a whole number above 0`)
}

/** Returns which writes to objects of a kind in a namespace a user may read, who may read the present ones. */
function ofOneKind(
  { registry: { authorizer, storage } }: PastOptions,
  user: UserInfo,
  { verb, namespace }: RequestInfo,
  { group, version, plural }: Resource,
): Wanted["readable"] {
  let decided: MaybePromise<AuthorizationDecision> | undefined
  return ({ revision }) => {
    if (!isFormer(storage, namespace, revision)) return true
    decided ??= authorizer.authorize({ user, verb, group, version, resource: plural, namespace: undefined })
    return whenReady(decided, ({ allowed }) => allowed)
  }
}

/**
 * Returns which objects of all kinds a user may read: those that the user may list, in one namespace or, if it is
 * empty, in all. Leases and Events are left out, which are many and tell of themselves.
 */
function ofAllKinds({ registry, scheme }: PastOptions, user: UserInfo, only: string): Wanted["readable"] {
  const kinds = kindsByPrefix(scheme)
  const known = new Map<string, boolean>()
  return ({ key, revision }) => {
    const resource = kinds.get(prefixOf(key))
    if (resource === undefined || resource.highChurn === true || resource.ttlSeconds !== undefined) return false
    const namespace = resource.scope === "Namespaced" ? key.split("/", 5)[4] : undefined
    if (only !== "" && namespace !== only) return false
    const isOfFormer = namespace !== undefined && isFormer(registry.storage, namespace, revision)
    const where = isOfFormer ? undefined : namespace
    const place = `${resource.prefix} ${where ?? ""}`
    const decided = known.get(place)
    if (decided !== undefined) return decided
    const { group, version, plural } = resource
    const attributes = { user, verb: "list", group, version, resource: plural, namespace: where }
    return whenReady(registry.authorizer.authorize(attributes), ({ allowed }: AuthorizationDecision) => {
      known.set(place, allowed)
      return allowed
    })
  }
}

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

function entryOf(
  { revision, type, time, author, stored, previous }: StorageEvent,
  wanted: Pick<Wanted, "objects" | "previous">,
): LogEntry {
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
    changes:
      type === "update" && wanted.previous
        ? maskedChanges(changesBetween(before ?? {}, after ?? {}).slice(0, MOST_FIELDS), object)
        : [],
    ...(wanted.objects ? { object, ...(before === undefined || !wanted.previous ? {} : { previous: before }) } : {}),
  }
}
