import { statSync } from "node:fs"
import { qualified } from "../../../pkg/apimachinery/errors.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Registry, Value } from "../../../pkg/metrics/registry.ts"
import type { Storage } from "../../../pkg/storage/storage.ts"
import { storagePrefix } from "./view.ts"

interface Options {
  readonly storage: Storage
  /** Returns the kinds that are served. */
  readonly resources: () => readonly Resource[]
  /** The file of the store; undefined where it is in memory, or shared. */
  readonly file: string | undefined
}

/**
 * Registers how many objects of each kind there are, how many of their changes the server has received, and the size of
 * the store. Counted when they are asked for. Source: apiserver pkg/storage/etcd3/metrics. Returns a function that ends
 * it.
 */
export function registerStorageMetrics(registry: Registry, { storage, resources, file }: Options): () => void {
  // The older of the two names is deprecated since 1.34, and dashboards still ask for it.
  registry.readEach(
    "gauge",
    "apiserver_storage_objects",
    "[DEPRECATED, consider using apiserver_resource_objects instead] Number of stored objects, by resource.",
    "resource",
    () => Object.fromEntries(stored(resources()).map((one) => [qualified(one), countOf(storage, one)])),
  )
  if (file !== undefined)
    registry.readEach(
      "gauge",
      "apiserver_storage_size_bytes",
      "Size of the store's file in bytes.",
      "storage_cluster_id",
      () => ({ "0": sizeOf(file) }),
    )
  const received = registry.counter(
    "apiserver_storage_events_received_total",
    "Changes that were received from the store.",
    "group",
    "resource",
  )
  const counters = new Map<string, Value>()
  return storage.subscribe((events) => {
    for (const { key } of events) {
      const end = key.indexOf("/", key.indexOf("/", PREFIX.length) + 1)
      const place = key.slice(PREFIX.length, end)
      let counter = counters.get(place)
      if (counter === undefined) {
        const [group = "", resource = ""] = place.split("/")
        counters.set(place, (counter = received.with(group === "core" ? "" : group, resource)))
      }
      counter.value++
    }
  })
}

const PREFIX = "/registry/"

/** Returns one version of each kind whose objects are stored. */
function stored(all: readonly Resource[]): readonly Resource[] {
  const byPrefix = new Map<string, Resource>()
  for (const resource of all)
    if (resource.verbs.includes("list") && resource.verbs.includes("create"))
      byPrefix.set(storagePrefix(resource, undefined), resource)
  return [...byPrefix.values()]
}

function countOf(storage: Storage, resource: Resource): number {
  const { items, remaining } = storage.page(storagePrefix(resource, undefined), undefined, 1)
  return items.length + remaining
}

/** With what is not yet in the file itself. */
function sizeOf(file: string): number {
  let bytes = 0
  for (const path of [file, `${file}-wal`]) bytes += statSync(path, { throwIfNoEntry: false })?.size ?? 0
  return bytes
}
