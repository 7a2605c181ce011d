import { sleep } from "../../clock/clock.ts"
import { isNotFound, isResourceExpired, StatusError } from "../errors/status-error.ts"
import type { Environment } from "../environment/environment.ts"
import type { Output } from "../printers/output.ts"
import type { Info } from "../resource/info.ts"
import type { Unstructured } from "../rest/json.ts"

/** The wait before another attempt when a watch has ended, in milliseconds. */
const AGAIN_MS = 1000

/** What a wait for the end of an object needs. */
export interface WaitDeletedOptions {
  readonly environment: Environment
  readonly errOut: Output
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

/** Lists and watches the object until it is deleted. */
async function untilGone(info: Info, options: WaitDeletedOptions, signal: AbortSignal): Promise<void> {
  const { environment, errOut, uid } = options
  const fieldSelector = `metadata.name=${info.name}`
  for (;;) {
    const list = await info.helper.list(info.namespace, { fieldSelector })
    const [item] = (list["items"] ?? []) as readonly Unstructured[]
    if (item === undefined || (uid !== undefined && item.metadata?.uid !== uid)) return
    try {
      const events = info.helper.watch(
        info.namespace,
        { fieldSelector, resourceVersion: list.metadata?.resourceVersion ?? "" },
        signal,
      )
      for await (const { type, object } of events) {
        if (type === "DELETED") return
        if (type !== "ERROR") continue
        const { message } = new StatusError(object as object)
        await errOut.write(`error: An error occurred while waiting for the object to be deleted: ${message}`)
      }
    } catch (err) {
      if (signal.aborted) throw signal.reason
      if (!isResourceExpired(err) && err instanceof StatusError) throw err
    }
    await sleep(environment.clock, AGAIN_MS, signal)
  }
}
