import { isNotFound } from "../errors/status-error.ts"
import type { Environment } from "../environment/environment.ts"
import type { Info } from "../resource/info.ts"
import { objectEvents } from "../resource/object-events.ts"
import type { Unstructured } from "../rest/json.ts"

/** What a wait for the end of an object needs. */
export interface WaitDeletedOptions {
  readonly environment: Environment
  /** The object that is to go; another one of the same name counts as its end. Undefined: any of the name. */
  readonly uid?: string | undefined
  readonly timeoutMs: number
}

/**
 * Resolves when the object of the info is gone, with what it was at last. Source: kubectl pkg/cmd/wait/delete.go.
 * @throws Error when it is still there after the time
 */
export async function waitDeleted(info: Info, options: WaitDeletedOptions): Promise<Unstructured | undefined> {
  const { environment, uid, timeoutMs } = options
  if (info.name === "") throw new Error("resource name must be provided")
  const first = await getOrGone(info)
  if (first === undefined || (uid !== undefined && first.metadata?.uid !== uid)) return first ?? info.object
  if (timeoutMs === 0) throw new Error(`condition not met for ${info.objectName}`)
  const timedOut = new Error(`timed out waiting for the condition on ${info.objectName}`)
  const over = new AbortController()
  const timer = environment.clock.setTimeout(() => over.abort(timedOut), Math.max(0, timeoutMs))
  try {
    await untilGone(info, options, AbortSignal.any([over.signal, environment.interrupt]))
    return first
  } catch (err) {
    if (over.signal.aborted) throw timedOut
    throw err
  } finally {
    timer.cancel()
  }
}

async function getOrGone(info: Info): Promise<Unstructured | undefined> {
  try {
    return await info.helper.get(info.namespace, info.name)
  } catch (err) {
    if (isNotFound(err)) return undefined
    throw err
  }
}

/** Resolves when the object is deleted, or is no longer the one with this UID. */
async function untilGone(info: Info, { environment, uid }: WaitDeletedOptions, signal: AbortSignal): Promise<void> {
  for await (const { type, object } of objectEvents(info, { environment, signal })) {
    if (type === "DELETED") return
    if (type === "SYNCED" && (object === undefined || (uid !== undefined && object.metadata?.uid !== uid))) return
  }
}
