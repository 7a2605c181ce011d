import type { KubeObject } from "../../../apimachinery/resource.ts"
import { deepEqual } from "../../../apimachinery/json/equal.ts"
import {
  managersOf,
  statusManagersOf,
  systemAnnotations,
  withoutSystemFields,
} from "../../../history/undo/system-fields.ts"
import { isConflict } from "../../errors/status-error.ts"
import { currentObject } from "../history/history-source.ts"
import { sleep, type Clock } from "../../../clock/clock.ts"
import { goJson, type Unstructured } from "../../rest/json.ts"
import type { RestClient } from "../../rest/rest-client.ts"
import { isAdopted } from "./restorable.ts"
import type { UndoPlan, UndoStep } from "./plan.ts"

/** The server keeps the owners of fields of objects that are sent below this path. */
const RESTORE = "/k3ts/restore"

interface Server {
  readonly client: RestClient
  readonly clock: Clock
}

/** How the write of a step ended. */
export interface Outcome {
  readonly step: UndoStep
  readonly error: Error | undefined
}

/** Makes the writes of a plan, one after the other; one that fails keeps no other from being made. */
export async function* carryOut({ client, clock }: Server, plan: UndoPlan, dryRun: boolean): AsyncGenerator<Outcome> {
  /** The UIDs of objects that are gone, and of those that took their places. */
  const uids = new Map<string, string>()
  const query = { fieldManager: "k3ts-undo", ...(dryRun ? { dryRun: "All" } : {}) }
  for (const step of plan.steps) {
    let error: Error | undefined
    try {
      const { metadata } = await send({ client, clock }, step, query, uids)
      const before = step.target.before?.metadata.uid
      if (before !== undefined && metadata?.uid !== undefined) uids.set(before, metadata.uid)
    } catch (err) {
      error = err as Error
    }
    yield { step, error }
  }
}

/** Attempts of a write where controllers write to the object at the same time. */
const MOST_ATTEMPTS = 10
/** How long a write waits before its next attempt, in milliseconds. */
const RETRY_MS = 100

async function send(
  { client, clock }: Server,
  step: UndoStep,
  query: Readonly<Record<string, string>>,
  uids: ReadonlyMap<string, string>,
): Promise<Unstructured> {
  const { action, path, collection, object } = step
  if (action === "create") {
    const body = goJson(withOwners(object, uids))
    return client.object({ method: "POST", path: `${RESTORE}${collection}`, query, body })
  }
  let current = step.current!
  if (action === "replace") {
    await send({ client, clock }, { ...step, action: "delete" }, query, uids)
    return query["dryRun"] === undefined
      ? send({ client, clock }, { ...step, action: "create" }, query, uids)
      : (current as unknown as Unstructured)
  }
  for (let attempt = 1; ; attempt++) {
    try {
      return await (action === "update"
        ? client.object({ method: "PUT", path: `${RESTORE}${path}`, query, body: goJson(onTopOf(current, object)) })
        : client.object({ method: "DELETE", path, query, body: goJson(deletionOf(current)) }))
    } catch (err) {
      if (!isConflict(err) || attempt === MOST_ATTEMPTS) throw err
      await sleep(clock, RETRY_MS)
      const newer = await currentObject(client, path)
      // Only what the system writes may have changed since the plan was made.
      if (newer === undefined || !deepEqual(withoutSystemFields(newer), withoutSystemFields(current))) throw err
      current = newer
    }
  }
}

/** Returns an object with what belongs to the system as it is now. */
function onTopOf(current: KubeObject, object: KubeObject): KubeObject {
  const { uid, resourceVersion, creationTimestamp, generation } = current.metadata
  const { status } = current as KubeObject & { readonly status?: unknown }
  const annotations = { ...object.metadata.annotations, ...systemAnnotations(current) }
  const managedFields = [...managersOf(object), ...statusManagersOf(current)]
  const system = { uid, resourceVersion, creationTimestamp, generation, managedFields }
  const metadata = { ...object.metadata, ...(Object.keys(annotations).length === 0 ? {} : { annotations }), ...system }
  return { ...object, status, metadata } as KubeObject
}

const deletionOf = ({ metadata: { uid, resourceVersion } }: KubeObject) => ({
  kind: "DeleteOptions",
  apiVersion: "v1",
  preconditions: { uid, resourceVersion },
  propagationPolicy: "Background",
})

/** Refers to owners as they are now. Who adopts what it owns by a selector finds it without a reference. */
function withOwners(object: KubeObject, uids: ReadonlyMap<string, string>): KubeObject {
  const { ownerReferences, ...metadata } = object.metadata
  if (ownerReferences === undefined) return object
  const kept = ownerReferences.flatMap((owner) =>
    isAdopted(object) && owner.controller === true ? [] : [{ ...owner, uid: uids.get(owner.uid) ?? owner.uid }],
  )
  return { ...object, metadata: { ...metadata, ...(kept.length === 0 ? {} : { ownerReferences: kept }) } } as KubeObject
}
