import { alreadyExists, conflict, methodNotSupported, notFound } from "../../../pkg/apimachinery/errors.ts"
import { decodeObject } from "../../../pkg/apimachinery/decode.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import { formatTime } from "../../../pkg/apimachinery/time.ts"
import type { ApiCall, Client, Transport, WatchHandlers } from "../../../pkg/client/client.ts"
import { keyFrom } from "../../../pkg/client/informer.ts"
import { createInformers } from "../../../pkg/client/informers.ts"
import { newClient } from "../../../pkg/client/new-client.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import { seededRandom, uuid } from "../../../pkg/clock/random.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod.ts"
import { silent } from "../../../pkg/log/log.ts"

type Json = { [key: string]: unknown }

/** As much of an API server as the kubelet's tests need: objects in memory, watches, graceful deletion of pods, merging of patches. */
export class FakeApi implements Transport {
  readonly #clock: Clock
  readonly #random = seededRandom(1)
  readonly #objects = new Map<Resource, Map<string, KubeObject>>()
  readonly #watches = new Map<Resource, Set<WatchHandlers<KubeObject>>>()
  #revision = 1
  readonly client: Client = newClient(this)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  informers() {
    return createInformers({ client: this.client, clock: this.#clock, random: this.#random, log: silent })
  }

  get<T extends KubeObject>(resource: Resource<T>, name: string, namespace?: string): T | undefined {
    return this.#of(resource as unknown as Resource).get(keyFrom({ name, namespace })) as T | undefined
  }
  list<T extends KubeObject>(resource: Resource<T>): readonly T[] {
    return [...this.#of(resource as unknown as Resource).values()] as unknown as T[]
  }

  /** Resolves with the first state of an object for which `wanted` holds; `undefined` is its absence. */
  when<T extends KubeObject>(resource: Resource<T>, name: string, namespace: string | undefined, wanted: (object: T | undefined) => boolean): Promise<T | undefined> {
    return new Promise((resolve) => {
      const look = () => {
        const object = this.get(resource, name, namespace)
        if (!wanted(object)) return
        watch.close()
        resolve(object)
      }
      const watch = this.watch(resource as unknown as Resource, {}, { onEvent: look, onEnd: () => {} })
      look()
    })
  }

  async call({ verb, resource, subresource, namespace, name, object, patch, options }: ApiCall): Promise<unknown> {
    await Promise.resolve()
    const all = this.#of(resource)
    const key = keyFrom({ name: name ?? object?.metadata?.name, namespace })
    const there = all.get(key)
    if (verb === "list") return { metadata: { resourceVersion: String(this.#revision) }, items: [...all.values()] }
    if (verb === "create") {
      if (there !== undefined) throw alreadyExists(resource, there.metadata.name!)
      return this.#put(resource, { ...object, metadata: { ...object!.metadata, uid: object!.metadata?.uid ?? uuid(this.#random), creationTimestamp: formatTime(this.#clock.now()) } }, "ADDED")
    }
    if (there === undefined) throw notFound(resource, name ?? "")
    switch (verb) {
      case "get": return there
      case "update": return this.#put(resource, { ...object }, "MODIFIED")
      case "patch": {
        const body = patch!.body as Json
        const uid = (body["metadata"] as Json | undefined)?.["uid"]
        if (uid !== undefined && uid !== there.metadata.uid) throw conflict(resource, name!, "the uid differs")
        const merged = merge(there, subresource === undefined ? body : { status: body["status"] }, patch!.type === "strategic") as Json
        return this.#put(resource, merged, "MODIFIED")
      }
      case "delete": {
        if (options?.preconditions?.uid !== undefined && options.preconditions.uid !== there.metadata.uid) throw conflict(resource, name!, "the uid differs")
        const grace = resource.kind === "Pod" ? (options?.gracePeriodSeconds ?? (there as Pod).spec.terminationGracePeriodSeconds) : 0
        if (grace > 0) return this.#put(resource, { ...there, metadata: { ...there.metadata, deletionTimestamp: formatTime(this.#clock.now() + grace * 1000), deletionGracePeriodSeconds: grace } }, "MODIFIED")
        all.delete(key)
        this.#tell(resource, "DELETED", { ...there, metadata: { ...there.metadata, resourceVersion: String(++this.#revision) } })
        return there
      }
      default: throw methodNotSupported(resource, verb)
    }
  }

  watch(resource: Resource, _options: object, handlers: WatchHandlers<KubeObject>) {
    const watches = this.#watches.get(resource) ?? new Set()
    this.#watches.set(resource, watches)
    watches.add(handlers)
    return { close: () => void watches.delete(handlers) }
  }

  #of(resource: Resource): Map<string, KubeObject> {
    const all = this.#objects.get(resource) ?? new Map<string, KubeObject>()
    this.#objects.set(resource, all)
    return all
  }

  #put(resource: Resource, json: object, type: "ADDED" | "MODIFIED"): KubeObject {
    const metadata = { ...(json as KubeObject).metadata, resourceVersion: String(++this.#revision) }
    const { object } = decodeObject(resource, { ...json, metadata })
    this.#of(resource).set(keyFrom(object.metadata), object)
    this.#tell(resource, type, object)
    return object
  }

  #tell(resource: Resource, type: "ADDED" | "MODIFIED" | "DELETED", object: KubeObject): void {
    for (const { onEvent } of [...(this.#watches.get(resource) ?? [])]) onEvent({ type, object })
  }
}

/** Merge patches; strategic ones merge conditions by type and heed `$patch: replace`. */
function merge(into: unknown, patch: unknown, strategic: boolean, key = ""): unknown {
  if (Array.isArray(patch) && strategic) {
    const items = patch as Json[]
    if (items[0]?.["$patch"] === "replace") return items.slice(1)
    if (key === "conditions" || key === "addresses") {
      const merged = new Map(((into as Json[] | undefined) ?? []).map((item) => [item["type"], item]))
      for (const item of items) if (item["$patch"] === "delete") merged.delete(item["type"])
      else merged.set(item["type"], merge(merged.get(item["type"]), item, strategic) as Json)
      return [...merged.values()]
    }
  }
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch
  const result: Json = { ...(into as Json | undefined) }
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name]
    else if (value !== undefined) result[name] = merge(result[name], value, strategic, name)
  }
  return result
}
