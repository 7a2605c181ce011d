import { APIService, localCondition } from "../../../pkg/api/apiregistration/v1/apiservice.ts"
import { CustomResourceDefinition } from "../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import type { Scheme } from "../../../pkg/api/scheme.ts"
import { timestamp, type Clock } from "../../../pkg/clock/clock.ts"
import { uuid, type Random } from "../../../pkg/clock/random.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { StorageError, type Storage, type Write } from "../../../pkg/storage/storage.ts"
import { StoredKind } from "../cacher/stored-kind.ts"
import { storageKey } from "../cacher/view.ts"
import type { ApiServices } from "./api-services.ts"
import { localService, managed } from "./local-services.ts"
import { BUILTIN_PRIORITIES, CUSTOM_PRIORITY } from "./priorities.ts"

export interface AutoRegistrationOptions {
  readonly storage: Storage
  readonly services: ApiServices
  readonly scheme: Pick<Scheme, "groups">
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/**
 * Creates an APIService for each version that custom resource definitions serve, and restores it when it is deleted or
 * its spec changed. One from which the server's label was removed belongs to its administrator and is left as it is.
 * APIServices of versions that are no longer served are deleted; those of built-in versions only at the start. Returns
 * a function that stops this. Source: kube-aggregator pkg/controllers/autoregister,
 * pkg/controlplane/controller/crdregistration.
 */
export function keepRegistered(options: AutoRegistrationOptions): () => void {
  const { storage, services, scheme, clock, log } = options
  const definitions = new StoredKind(storage, CustomResourceDefinition)
  const { prefix } = definitions
  /** The names of the definitions that serve a version, by the name of the version's APIService. */
  const serving = new Map<string, Set<string>>()
  const versions = new Map<string, readonly string[]>()

  /** Reads the current state of a definition. Returns the names of the APIServices that may have to change. */
  const take = (name: string): readonly string[] => {
    const definition = definitions.get({ name })?.object
    const before = versions.get(name) ?? []
    const after = definition === undefined ? [] : servedBy(definition)
    if (deepEqual(before, after)) return []
    for (const service of before) {
      const names = serving.get(service)
      names?.delete(name)
      if (names?.size === 0) serving.delete(service)
    }
    for (const service of after) serving.set(service, (serving.get(service) ?? new Set<string>()).add(name))
    if (after.length === 0) versions.delete(name)
    else versions.set(name, after)
    return [...before, ...after]
  }

  const settle = (names: Iterable<string>): void => {
    for (const name of new Set(names)) {
      const change = changeOf(name, serving.has(name), options)
      if (change === undefined) continue
      storage.write(change).catch((error: unknown) => {
        // The object was changed concurrently; the event of that change calls this again.
        if (!(error instanceof StorageError && ["conflict", "exists", "missing"].includes(error.code)))
          log.error("Failed to register the APIService of a custom resource", { service: name, error })
      })
    }
  }

  for (const { key } of storage.list(prefix)) take(key.slice(prefix.length))
  settle([...serving.keys(), ...spurious(services, scheme, serving)])
  const unsubscribe = storage.subscribe(
    (events) => {
      const names = events.flatMap(({ key }) => take(key.slice(prefix.length)))
      if (names.length > 0) settle(names)
    },
    [prefix],
  )
  const unsubscribeServices = services.subscribe((names) =>
    settle(names.filter((name) => serving.has(name) || managedAlways(services.get(name)))),
  )
  return () => {
    unsubscribe()
    unsubscribeServices()
  }

  /** Returns the write that brings an APIService to the wanted state; undefined when none is needed. */
  function changeOf(name: string, wanted: boolean, { random }: AutoRegistrationOptions): Write | undefined {
    const current = services.get(name)
    const write = { key: storageKey(APIService, { name }), time: clock.now(), author: "system:apiserver" }
    if (!wanted) {
      if (current === undefined || managed(current) === undefined) return undefined
      return { ...write, object: null, expected: Number(current.metadata.resourceVersion) }
    }
    const [version = "", group = ""] = split(name)
    const { object } = decodeObject(APIService, localService(group, version, CUSTOM_PRIORITY, "true"))
    if (current === undefined) {
      const now = timestamp(clock)
      const metadata = { ...object.metadata, uid: uuid(random), creationTimestamp: now }
      const created: APIService = { ...object, metadata, status: { conditions: [localCondition(now)] } }
      return { ...write, object: created, expected: 0 }
    }
    if (managed(current) === undefined || deepEqual(current.spec, object.spec)) return undefined
    return {
      ...write,
      object: { ...current, spec: object.spec } as APIService,
      expected: Number(current.metadata.resourceVersion),
    }
  }
}

const managedAlways = (service: APIService | undefined): boolean => service !== undefined && managed(service) === "true"

const servedBy = ({ spec: { group, versions } }: CustomResourceDefinition): readonly string[] =>
  versions.flatMap(({ name, served }) =>
    served && !BUILTIN_PRIORITIES.has(`${group}/${name}`) ? [`${name}.${group}`] : [],
  )

/** Returns the names of labelled APIServices whose versions are no longer served since the server last ran. */
const spurious = (
  services: ApiServices,
  scheme: Pick<Scheme, "groups">,
  serving: ReadonlyMap<string, unknown>,
): readonly string[] => {
  const builtin = new Set(
    scheme.groups.flatMap(({ name, versions }) =>
      versions.filter((version) => BUILTIN_PRIORITIES.has(`${name}/${version}`)).map((version) => `${version}.${name}`),
    ),
  )
  return [...services.all].flatMap((service) => {
    const { name = "" } = service.metadata
    return managed(service) === undefined || serving.has(name) || builtin.has(name) ? [] : [name]
  })
}

/** Splits `<version>.<group>` at the first dot, since versions have no dots. */
function split(name: string): readonly [version: string, group: string] {
  const dot = name.indexOf(".")
  return [name.slice(0, dot), name.slice(dot + 1)]
}
