import { FlowSchema } from "../../../../pkg/api/flowcontrol/v1/flowschema.ts"
import { PriorityLevelConfiguration } from "../../../../pkg/api/flowcontrol/v1/prioritylevelconfiguration.ts"
import { deepEqual } from "../../../../pkg/apimachinery/json/equal.ts"
import { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { Client } from "../../../../pkg/client/client.ts"
import { timestamp, type Clock, type Timer } from "../../../../pkg/clock/clock.ts"
import type { Logger } from "../../../../pkg/log/log.ts"
import type { Storage, StorageEvent } from "../../../../pkg/storage/storage.ts"
import type { Objects } from "../../cacher/objects.ts"
import { storagePrefix } from "../../cacher/view.ts"
import {
  CONSUMER,
  danglingCondition,
  ENSURED,
  isUnwanted,
  PRODUCER,
  revised,
  type FlowObject,
} from "./ensured-objects.ts"
import type { FlowControl } from "../flow-control.ts"

export interface KeepConfigOptions {
  readonly storage: Storage
  readonly objects: Objects
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
  /** Gets every new configuration; undefined when requests are not controlled and only the objects are kept. */
  readonly flow: FlowControl | undefined
}

/** The server's own objects are corrected at the end of each minute in which they were changed. */
const ENSURE_MS = 60_000
/**
 * The most writes per minute to the status of one FlowSchema, since another client may keep writing a different one.
 */
const MOST_WRITES = 6

/**
 * Configures flow control from the stored objects, sets the condition Dangling of FlowSchemas, and corrects the
 * server's own objects. Returns a function that stops this. Sources:
 * pkg/registry/flowcontrol/rest/storage_flowcontrol.go, apf_controller.go. Differs from upstream: objects are examined
 * when one changes, and not every minute.
 */
export function keepFlowConfig({ storage, objects, client, clock, log, flow }: KeepConfigOptions): () => void {
  const prefixes = [PriorityLevelConfiguration, FlowSchema].map((kind) => storagePrefix(kind as Resource, undefined))
  const began = clock.monotonic()
  const written = new Map<string, readonly number[]>()
  let timer: Timer | undefined
  let isClosed = false

  const levels = () => objects.list(PriorityLevelConfiguration)
  const schemas = () => objects.list(FlowSchema)
  const failed = (what: string, name: string) => (error: unknown) => {
    const { reason } = ApiError.from(error)
    // The object was changed concurrently; the event of that change calls this again.
    if (isClosed || reason === "Conflict" || reason === "NotFound" || reason === "AlreadyExists") return
    log.error(what, { name, error })
  }

  function ensure(): void {
    for (const wanted of ENSURED) {
      const { resource, name, object } = wanted
      const stored = objects.get(resource as Resource<FlowObject>, { name })
      const options = { fieldManager: PRODUCER }
      const tellFailure = failed("Failed to correct an object of API Priority and Fairness", name)
      if (stored === undefined) client.create(resource, object, options).catch(tellFailure)
      else {
        const right = revised(stored, wanted)
        if (right !== stored) client.update(resource, right, options).catch(tellFailure)
      }
    }
    for (const object of unwanted())
      client
        .delete(object.kind === FlowSchema.kind ? FlowSchema : PriorityLevelConfiguration, object.metadata)
        .catch(failed("Failed to delete an object of API Priority and Fairness", object.metadata.name ?? ""))
  }

  const unwanted = (): readonly KubeObject[] => [...levels(), ...schemas()].filter(isUnwanted)

  const isAllRight = (): boolean =>
    unwanted().length === 0 &&
    ENSURED.every((wanted) => {
      const stored = objects.get(wanted.resource as Resource<FlowObject>, { name: wanted.name })
      return stored !== undefined && revised(stored, wanted) === stored
    })

  function ensureLater(): void {
    if (timer !== undefined || isAllRight()) return
    const since = (clock.monotonic() - began) % ENSURE_MS
    timer = clock.setTimeout(() => {
      timer = undefined
      ensure()
    }, ENSURE_MS - since)
  }

  function tellDangling(): void {
    const there = new Set(levels().map(({ metadata }) => metadata.name))
    for (const schema of schemas()) {
      const { name = "" } = schema.metadata
      const { lastTransitionTime: _time, ...present } =
        schema.status.conditions?.find(({ type }) => type === "Dangling") ?? {}
      const wanted = danglingCondition(schema, there.has(schema.spec.priorityLevelConfiguration.name))
      if (deepEqual(present, wanted) || !mayWrite(name)) continue
      const body = {
        apiVersion: FlowSchema.apiVersion,
        kind: FlowSchema.kind,
        metadata: { name },
        status: { conditions: [{ ...wanted, lastTransitionTime: timestamp(clock) }] },
      }
      client
        .patch(
          FlowSchema,
          { name },
          { type: "apply", body },
          { subresource: "status", fieldManager: CONSUMER, force: true },
        )
        .catch(failed("Failed to write the status of a FlowSchema", name))
    }
  }

  /**
   * Whether another write to the status is allowed in this minute; if not, the next change of an object tries again.
   */
  function mayWrite(name: string): boolean {
    const now = clock.monotonic()
    const recent = (written.get(name) ?? []).filter((at) => now - at < 60_000)
    if (recent.length >= MOST_WRITES) return false
    written.set(name, [...recent, now])
    return true
  }

  function follow(changes: readonly StorageEvent[]): void {
    for (const { type, stored } of changes) if (type === "delete") written.delete(stored.object.metadata.name ?? "")
    if (changes.some(isOfSpec)) flow?.configure(levels(), schemas())
    tellDangling()
    ensureLater()
  }

  flow?.configure(levels(), schemas())
  tellDangling()
  ensure()
  const unsubscribe = storage.subscribe(follow, prefixes)
  return () => {
    isClosed = true
    unsubscribe()
    timer?.cancel()
  }
}

/** Whether an event changed more than the status, which flow control does not read. */
const isOfSpec = ({ type, stored, previous }: StorageEvent): boolean =>
  type !== "update" ||
  previous === undefined ||
  (stored.object as FlowObject).spec !== (previous.object as FlowObject).spec
