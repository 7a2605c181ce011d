import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Stored, Write } from "../../../pkg/storage/storage.ts"

/**
 * Where the objects of a resource are stored, and how they look through it: as they are, or (storedAs) turned into
 * another group and version.
 */
export interface View {
  /** Ends in `/`. */
  readonly prefix: string
  /** The stored object as this resource shows it; the same value for the same stored one. */
  shown(stored: Stored): Stored
  /** The same of several; the very list that was given where they are shown as they are. */
  allShown(stored: readonly Stored[]): readonly Stored[]
  toStored(object: KubeObject): KubeObject
}

const views = new WeakMap<Resource, View>()

export function viewOf(resource: Resource): View {
  let view = views.get(resource)
  if (view === undefined) views.set(resource, (view = makeView(resource)))
  return view
}

/** The key of an object of the resource in the store. */
export function storageKey(
  resource: Resource,
  ref: { readonly namespace?: string | undefined; readonly name?: string | undefined },
): string {
  const { prefix } = viewOf(resource)
  return resource.scope === "Namespaced"
    ? `${prefix}${ref.namespace ?? ""}/${ref.name ?? ""}`
    : `${prefix}${ref.name ?? ""}`
}

/** What all keys of the resource start with, or those of one of its namespaces. */
export const storagePrefix = (resource: Resource, namespace: string | undefined): string =>
  namespace ? `${viewOf(resource).prefix}${namespace}/` : viewOf(resource).prefix

/**
 * How the store keeps objects of a resource: those with a time to live come in great numbers, and hardly anybody reads
 * them.
 */
export const keepingOf = ({ highChurn = false, ttlSeconds }: Resource): Pick<Write, "highChurn" | "seldomRead"> => ({
  highChurn,
  seldomRead: ttlSeconds !== undefined,
})

function makeView(resource: Resource): View {
  const { storedAs } = resource
  if (storedAs === undefined)
    return {
      prefix: resource.prefix,
      shown: (stored) => stored,
      allShown: (stored) => stored,
      toStored: (object) => object,
    }
  // Nobody but those who look at it keeps it: as long as what is stored (an Event, an hour) would be twice the memory.
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
    prefix: `/registry/${storedAs.group === "" ? "core" : storedAs.group}/${resource.plural}/`,
    shown,
    allShown: (stored) => (stored.every(isCurrent) ? stored : stored.map(shown)),
    toStored: (object) => storedAs.toStored(object),
  }
}

const encoder = new TextEncoder()

/** A stored object in another group and version. */
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
