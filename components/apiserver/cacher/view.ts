import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Stored, Write } from "../../../pkg/storage/storage.ts"
import { whenReady } from "../call/maybe-promise.ts"

/**
 * Where the objects of a resource are stored, and how the resource shows them: unchanged, or (storedAs) converted to
 * another group and version. Methods return promises only where a webhook converts, which can fail.
 */
export interface View {
  /** The prefix of the keys; ends in `/`. */
  readonly prefix: string
  /** Shows a stored object in the same turn of the event loop; undefined where a webhook converts. */
  readonly atOnce: ShowsAtOnce | undefined
  /** Returns a stored object as this resource shows it; the same value for the same stored object. */
  shown(stored: Stored): Stored | Promise<Stored>
  /** As `shown`, but calls the webhook again even if it has converted this object before. */
  shownAnew(stored: Stored): Stored | Promise<Stored>
  /** Shows several objects; returns the given list where no object needs conversion. */
  allShown(stored: readonly Stored[]): readonly Stored[] | Promise<readonly Stored[]>
  toStored(object: KubeObject): KubeObject | Promise<KubeObject>
}

export type ShowsAtOnce = (stored: Stored) => Stored

const views = new WeakMap<Resource, View>()

export function viewOf(resource: Resource): View {
  let view = views.get(resource)
  if (view === undefined) views.set(resource, (view = makeView(resource)))
  return view
}

/** Returns the key of an object in the store. */
export function storageKey(
  resource: Resource,
  ref: { readonly namespace?: string | undefined; readonly name?: string | undefined },
): string {
  const { prefix } = viewOf(resource)
  return resource.scope === "Namespaced"
    ? `${prefix}${ref.namespace ?? ""}/${ref.name ?? ""}`
    : `${prefix}${ref.name ?? ""}`
}

/** Returns the prefix of all keys of the resource, or of those in one namespace. */
export const storagePrefix = (resource: Resource, namespace: string | undefined): string =>
  namespace ? `${viewOf(resource).prefix}${namespace}/` : viewOf(resource).prefix

type Keeping = Pick<Write, "highChurn" | "seldomRead" | "ttlSeconds">

/**
 * How the store keeps objects of a resource. Objects with a time to live are many and seldom read. `eventSeconds`
 * replaces that time; zero is for ever.
 */
export const keepingOf = (
  { highChurn = false, ttlSeconds: declared }: Resource,
  eventSeconds: number | undefined,
): Keeping => ({
  highChurn,
  seldomRead: declared !== undefined,
  ttlSeconds: declared === undefined || eventSeconds === 0 ? undefined : (eventSeconds ?? declared),
})

function makeView(resource: Resource): View {
  const { storedAs } = resource
  if (storedAs === undefined) {
    const same = (stored: Stored): Stored => stored
    return {
      prefix: resource.prefix,
      atOnce: same,
      shown: same,
      shownAnew: same,
      allShown: (stored) => stored,
      toStored: (object) => object,
    }
  }
  const prefix = `/registry/${storedAs.group === "" ? "core" : storedAs.group}/${resource.plural}/`
  if (storedAs.convert !== undefined) return convertedView(resource, prefix, storedAs.convert)
  // Held weakly: a view of every stored object, such as an hour of Events, would double the memory.
  const made = new WeakMap<Stored, WeakRef<Stored>>()
  const isCurrent = ({ revision }: Stored): boolean => storedAs.isCurrent?.(revision) === true
  const shown = (stored: Stored): Stored => {
    if (isCurrent(stored)) return stored
    const known = made.get(stored)?.deref()
    if (known !== undefined) return known
    const object = storedAs.fromStored(stored.object)
    const seen = object === stored.object ? stored : new ShownObject(stored, object)
    made.set(stored, new WeakRef<Stored>(seen))
    return seen
  }
  return {
    prefix,
    atOnce: shown,
    shown,
    shownAnew: shown,
    allShown: (stored) => (stored.every(isCurrent) ? stored : stored.map(shown)),
    toStored: (object) => storedAs.toStored(object),
  }
}

type Convert = NonNullable<NonNullable<Resource["storedAs"]>["convert"]>

/**
 * The view of a version that a webhook converts to. Converted objects are cached as long as the stored ones, as
 * upstream's watch caches do for each version; concurrent requests share one call of the webhook.
 */
function convertedView({ apiVersion, storedAs }: Resource, prefix: string, convert: Convert): View {
  const { group, version, fromStored, toStored, isCurrent } = storedAs!
  const made = new WeakMap<Stored, Stored>()
  const underWay = new WeakMap<Stored, Promise<Stored>>()
  /** Returns the cached conversion; undefined where the webhook must be called. */
  const known = (stored: Stored): Stored | undefined => {
    if (isCurrent?.(stored.revision) === true) return stored
    const before = made.get(stored)
    return before ?? (stored.object.apiVersion === apiVersion ? keep(stored, fromStored(stored.object)) : undefined)
  }
  const keep = (stored: Stored, object: KubeObject): Stored => {
    const seen = object === stored.object ? stored : new ShownObject(stored, object)
    made.set(stored, seen)
    return seen
  }
  const ask = (wanted: readonly Stored[]): Promise<readonly Stored[]> => {
    const asked = convert(
      wanted.map(({ object }) => object),
      apiVersion,
    ).then((objects) => objects.map((object, i) => keep(wanted[i]!, object)))
    for (const [i, stored] of wanted.entries()) {
      const one = asked.then((all) => all[i]!)
      const over = () => {
        if (underWay.get(stored) === one) underWay.delete(stored)
      }
      one.then(over, over)
      underWay.set(stored, one)
    }
    return asked
  }
  const shownAnew = (stored: Stored): Stored | Promise<Stored> =>
    isCurrent?.(stored.revision) === true || stored.object.apiVersion === apiVersion
      ? known(stored)!
      : ask([stored]).then(([only]) => only!)
  const allShown = (stored: readonly Stored[]): readonly Stored[] | Promise<readonly Stored[]> => {
    const seen = stored.map(known)
    if (seen.every((each) => each !== undefined)) return seen
    const wanted = stored.filter((each, i) => seen[i] === undefined && !underWay.has(each))
    if (wanted.length > 0) void ask(wanted).catch(() => undefined)
    return Promise.all(stored.map(async (each, i) => seen[i] ?? underWay.get(each)!))
  }
  return {
    prefix,
    atOnce: undefined,
    shown(stored) {
      return whenReady(allShown([stored]), ([only]) => only!)
    },
    shownAnew,
    allShown,
    toStored: (object) =>
      object.apiVersion === `${group}/${version}`
        ? toStored(object)
        : convert([object], `${group}/${version}`).then(([converted]) => toStored(converted!)),
  }
}

const encoder = new TextEncoder()

/** A stored object converted to another group and version. */
export class ShownObject implements Stored {
  readonly key: string
  readonly revision: number
  readonly created: number
  readonly time: number
  readonly object: KubeObject
  #json: Uint8Array | undefined
  constructor({ key, revision, created, time }: Omit<Stored, "object" | "json">, object: KubeObject) {
    this.key = key
    this.revision = revision
    this.created = created
    this.time = time
    this.object = object
  }
  get json(): Uint8Array {
    return (this.#json ??= encoder.encode(JSON.stringify(this.object)))
  }
}
