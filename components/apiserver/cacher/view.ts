import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Stored } from "../../../pkg/storage/storage.ts"

/** Where the objects of a resource are stored, and how they look through it: as they are, or (storedAs) turned into another group and version. */
export interface View {
  /** Ends in `/`. */
  readonly prefix: string
  /** The stored object as this resource shows it; the same value for the same stored one. */
  shown(stored: Stored): Stored
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

function makeView(resource: Resource): View {
  const { storedAs } = resource
  if (storedAs === undefined)
    return { prefix: resource.prefix, shown: (stored) => stored, toStored: (object) => object }
  const made = new WeakMap<Stored, Stored>()
  return {
    prefix: `/registry/${storedAs.group === "" ? "core" : storedAs.group}/${resource.plural}/`,
    shown(stored) {
      let shown = made.get(stored)
      if (shown === undefined) made.set(stored, (shown = new ShownObject(stored, storedAs.fromStored(stored.object))))
      return shown
    },
    toStored: (object) => storedAs.toStored(object),
  }
}

const encoder = new TextEncoder()

/** A stored object in another group and version. */
export class ShownObject implements Stored {
  readonly key: string
  readonly revision: number
  readonly created: number
  readonly object: KubeObject
  #json: Uint8Array | undefined
  constructor({ key, revision, created }: Pick<Stored, "key" | "revision" | "created">, object: KubeObject) {
    this.key = key
    this.revision = revision
    this.created = created
    this.object = object
  }
  get json(): Uint8Array {
    return (this.#json ??= encoder.encode(JSON.stringify(this.object)))
  }
}
