import { CustomResourceDefinition } from "../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import { isEstablished } from "../../../pkg/api/apiextensions/v1/validation/definition.ts"
import type { Scheme } from "../../../pkg/api/scheme.ts"
import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import type { Client } from "../../../pkg/client/client.ts"
import { timestamp, type Clock, type Timer } from "../../../pkg/clock/clock.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { StorageError, type Storage } from "../../../pkg/storage/storage.ts"
import { storageKey, storagePrefix } from "../cacher/view.ts"
import { asWritten, withCondition } from "./conditions.ts"

/** The finalizer that keeps a definition until its objects are deleted. */
export const CLEANUP = "customresourcecleanup.apiextensions.k8s.io"

/** The delay after the first failed clean-up, in milliseconds; it doubles up to the maximum. */
const FIRST_WAIT_MS = 1000
const LONGEST_WAIT_MS = 60_000

type Definition = CustomResourceDefinition

/**
 * Returns a definition as the request for its deletion leaves it. Source: registry/customresourcedefinition/etcd.go
 * Delete.
 */
export function markedDeleting(object: KubeObject, now: string): KubeObject {
  const definition = object as Definition
  // Upstream sets deletionTimestamp outside its general code for deletions, so without a grace period and without a new
  // generation.
  const { deletionGracePeriodSeconds: _grace, generation, finalizers = [], ...metadata } = definition.metadata
  const marked: Definition = {
    ...definition,
    metadata: {
      ...metadata,
      ...(generation === undefined ? {} : { generation: generation - 1 }),
      finalizers: finalizers.includes(CLEANUP) ? finalizers : [...finalizers, CLEANUP],
    },
  }
  return withCondition(
    marked,
    {
      type: "Terminating",
      status: "True",
      reason: "InstanceDeletionPending",
      message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    },
    now,
  )
}

export interface FinalizerOptions {
  readonly storage: Storage
  readonly scheme: Scheme
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Deletes the objects of definitions that are being deleted, and removes the finalizer when no object is left. It does
 * not poll: events of the store show when the last object is gone. Returns a function that stops this. Source:
 * apiextensions-apiserver pkg/controller/finalizer.
 */
export function startFinalizer({ storage, scheme, client, clock, log }: FinalizerOptions): () => void {
  const prefix = storagePrefix(CustomResourceDefinition, undefined)
  /** The definitions that are cleaned up, by name, with the timer of the next attempt. */
  const working = new Map<string, Timer | undefined>()
  let stopped = false

  const current = (name: string): Definition | undefined =>
    storage.get(storageKey(CustomResourceDefinition, { name }))?.object as Definition | undefined

  const check = (name: string, waitMs = FIRST_WAIT_MS): void => {
    const definition = current(name)
    if (stopped || definition === undefined || !isWaiting(definition) || working.has(name)) return
    working.set(name, undefined)
    clean(name).then(
      () => working.delete(name),
      (error: unknown) => {
        if (stopped) return
        log.warn("Failed to delete the objects of a CustomResourceDefinition; will retry", {
          definition: name,
          error,
          waitMs,
        })
        working.set(
          name,
          clock.setTimeout(() => {
            working.delete(name)
            check(name, Math.min(waitMs * 2, LONGEST_WAIT_MS))
          }, waitMs),
        )
      },
    )
  }

  async function clean(name: string): Promise<void> {
    if (!(await writeCondition(name, IN_PROGRESS))) return
    const definition = current(name)
    if (definition === undefined) return
    const established = isEstablished(definition)
    if (established) await emptied(definition)
    if (stopped) return
    await removeFinalizer(name, established ? COMPLETED : NEVER_ESTABLISHED)
  }

  /** Deletes all objects of a definition, namespace by namespace, and waits until the last one is gone. */
  async function emptied(definition: Definition): Promise<void> {
    const { group } = definition.spec
    const { plural } = definition.status.acceptedNames
    const objects = `/registry/${group}/${plural}/`
    const served = scheme.versionsOf(group, plural)
    const [preferred] = served
    // Without a served version no request can reach the objects.
    if (preferred === undefined) return
    const stored = storage.list(objects).map(({ object }) => object)
    for (const [namespace, ofNamespace] of Map.groupBy(stored, ({ metadata }) => metadata.namespace)) {
      // A request in the version that an object is stored in needs no conversion, and so no webhook: that may be gone,
      // since it is removed together with the definition.
      const versions = Map.groupBy(ofNamespace, ({ apiVersion }) => served.find((one) => one.apiVersion === apiVersion))
      const [[only, all] = []] = versions
      if (versions.size === 1 || all === undefined)
        await unlessGone(client.deleteCollection(only ?? preferred, namespace === undefined ? {} : { namespace }))
      else
        for (const [resource = preferred, some] of versions)
          for (const { metadata } of some) await unlessGone(client.delete(resource, metadata))
    }
    if (storage.list(objects).length === 0) return
    await new Promise<void>((resolve) => {
      const off = storage.subscribe(
        (events) => {
          if (!events.some(({ type }) => type === "delete") || storage.list(objects).length > 0) return
          off()
          resolve()
        },
        [objects],
      )
      offs.add(off)
    })
  }
  const offs = new Set<() => void>()

  /** Writes a condition. Returns false when the definition no longer exists. */
  async function writeCondition(name: string, condition: typeof IN_PROGRESS): Promise<boolean> {
    return written(name, (definition) => withCondition(definition, condition, timestamp(clock)))
  }

  async function removeFinalizer(name: string, condition: typeof IN_PROGRESS): Promise<void> {
    await written(name, (definition) => {
      const next = withCondition(definition, condition, timestamp(clock))
      const { finalizers = [], ...metadata } = next.metadata
      const left = finalizers.filter((each) => each !== CLEANUP)
      return { ...next, metadata: left.length === 0 ? metadata : { ...metadata, finalizers: left } }
    })
  }

  async function written(name: string, change: (definition: Definition) => Definition): Promise<boolean> {
    for (;;) {
      const definition = current(name)
      if (definition === undefined || stopped) return false
      const object = asWritten(definition, change(definition), timestamp(clock))
      const key = storageKey(CustomResourceDefinition, { name })
      const expected = Number(definition.metadata.resourceVersion)
      const write = { key, object, expected, time: clock.now(), author: "system:apiserver" }
      try {
        if ((object.metadata.finalizers ?? []).length > 0) await storage.write(write)
        else await storage.writeAll([write, { ...write, object: null, expected: undefined }])
        return true
      } catch (err) {
        if (!(err instanceof StorageError && (err.code === "conflict" || err.code === "missing"))) throw err
      }
    }
  }

  for (const { key } of storage.list(prefix)) check(key.slice(prefix.length))
  const unsubscribe = storage.subscribe(
    (events) => {
      for (const { key, type } of events) if (type === "update") check(key.slice(prefix.length))
    },
    [prefix],
  )
  return () => {
    stopped = true
    unsubscribe()
    for (const off of offs) off()
    for (const timer of working.values()) timer?.cancel()
  }
}

async function unlessGone(deletion: Promise<unknown>): Promise<void> {
  await deletion.catch((err: unknown) => {
    if (!isNotFound(err)) throw err
  })
}

const isWaiting = ({ metadata }: Definition): boolean =>
  metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(CLEANUP) === true

const terminating = (status: "True" | "False", reason: string, message: string) => ({
  type: "Terminating",
  status,
  reason,
  message,
})
const IN_PROGRESS = terminating("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
const COMPLETED = terminating("False", "InstanceDeletionCompleted", "removed all instances")
const NEVER_ESTABLISHED = terminating("False", "NeverEstablished", "resource was never established")
