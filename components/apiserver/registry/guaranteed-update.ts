import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import type { Storage, Stored, Write } from "../../../pkg/storage/storage.ts"
import { keepingOf, storageKey, viewOf } from "../cacher/view.ts"
import { isRace } from "../store/is-race.ts"
import type { ApiRequest } from "../call/request.ts"
import type { RegistryContext } from "./context.ts"
import { apiErrorFrom } from "./errors.ts"
import { persistObject } from "./persist-object.ts"
import { unstored } from "./unstored.ts"
import { CompanionTakenError, together, writeAlong } from "./write-along.ts"
import { isPending } from "../call/maybe-promise.ts"

/** What an attempt wants to be done with the stored object. */
export type Attempt =
  | {
      readonly write: KubeObject
      /** What admission adds to the transaction. */
      readonly others?: readonly Write[]
      /** Called when the write has happened or failed. */
      settle?(written: boolean): void
    }
  /** Nothing changes; the response shows the object as it is. */
  | { readonly keep: Stored }
  | Removal
  /** A dry run: the object that would have been written. */
  | { readonly dryRun: Stored }

/** Removes the object. */
interface Removal {
  readonly remove: true
  /** The state that watchers see before the object is removed. */
  readonly marked?: KubeObject
  /**
   * The object in the response instead of the last state: an update that removes the object returns the updated object.
   */
  readonly shown?: KubeObject
  settle?(written: boolean): void
}

/** The result of an update. If `removed`, `stored` is the last state of the object. */
export interface Outcome {
  readonly stored: Stored
  readonly removed: boolean
}

/** Attempts after which a write gives up, so that no request runs for ever. */
const ATTEMPTS = 100

/**
 * Reads an object, lets `attempt` decide about it, and writes the result if the object has not changed in between;
 * otherwise it starts again with the present object. The object can change because `attempt` may await, as admission
 * does. A request that has lost one race queues with the other losers, so that many writers of one object need about
 * two attempts each, and not one for every other writer. Source: apiserver pkg/storage GuaranteedUpdate.
 */
export async function guaranteedUpdate(
  context: RegistryContext,
  request: Pick<ApiRequest, "resource" | "namespace" | "name" | "user" | "isLarge">,
  attempt: (current: Stored | undefined) => Promise<Attempt> | Attempt,
): Promise<Outcome> {
  const { resource, user } = request
  const { storage, clock } = context
  const view = viewOf(resource)
  const key = storageKey(resource, request)
  let current = storage.get(key)
  let leave: (() => void) | undefined
  try {
    for (let tries = 1; ; tries++) {
      const shown = current && view.shown(current)
      const wanted = await attempt(isPending(shown) ? await shown : shown)
      if ("keep" in wanted) return { stored: wanted.keep, removed: false }
      if ("dryRun" in wanted) return { stored: wanted.dryRun, removed: false }
      try {
        context.checkRunning()
        const before = current
        const base = {
          key,
          expected: before?.revision ?? 0,
          time: clock.now(),
          author: user.name,
          ...keepingOf(resource, context.eventSeconds),
        }
        const alongside = (object?: KubeObject) => context.hooks(resource)?.alongside?.(object, before?.object)
        let stored: Stored
        if ("write" in wanted)
          stored = await persistObject(context, request, {
            key,
            object: wanted.write,
            expected: base.expected,
            along: (object) => together(alongside(object), wanted.others),
          })
        else if (wanted.marked === undefined) stored = await writeAlong(storage, { ...base, object: null }, alongside())
        else {
          const write = { ...base, object: await view.toStored(wanted.marked) }
          const isFirstMark = before?.object.metadata.deletionTimestamp === undefined
          stored = await (isFirstMark ? markThenRemove : removeMarked)(storage, write, alongside())
        }
        wanted.settle?.(true)
        if ("remove" in wanted && wanted.shown !== undefined)
          return { stored: unstored(key, wanted.shown), removed: true }
        return { stored: await view.shown(stored), removed: "remove" in wanted }
      } catch (err) {
        wanted.settle?.(false)
        const isTaken = err instanceof CompanionTakenError
        if (!(isRace(err) || isTaken) || tries === ATTEMPTS) throw apiErrorFrom(err, resource, request.name ?? "")
        if (leave === undefined) {
          leave = await myTurn(storage, key)
          current = storage.get(key)
        } else if (isTaken || (err.current !== undefined && err.current.key !== key)) current = storage.get(key)
        else current = err.current // What is there, committed or about to be.
      }
    }
  } finally {
    leave?.()
  }
}

/**
 * Writes the marked object, and removes it in a transaction of its own. Controllers act on the mark, so those that
 * watch must get a turn while the object is there. Source: registry/generic/registry/store.go Delete.
 */
async function markThenRemove(storage: Storage, write: Write, others: readonly Write[] = []): Promise<Stored> {
  const marked = await storage.write(write)
  try {
    const [removed] = await storage.writeAll([{ ...write, object: null, expected: marked.revision }, ...others])
    return removed!
  } catch (err) {
    // Somebody else removed it first. After any other change the deletion starts again, with what is there now.
    if (isRace(err) && err.code === "missing" && others.length === 0) return marked
    throw err
  }
}

/** Writes the marked object and removes it, in one transaction. */
async function removeMarked(storage: Storage, write: Write, others: readonly Write[] = []): Promise<Stored> {
  const [, removed] = await storage.writeAll([write, { ...write, object: null, expected: undefined }, ...others])
  return removed!
}

/** For each key, the end of the queue of writers. */
const lines = new WeakMap<Storage, Map<string, Promise<void>>>()

/** Resolves when all earlier writers of the key have finished; returns the function that lets the next one in. */
async function myTurn(storage: Storage, key: string): Promise<() => void> {
  let waiting = lines.get(storage)
  if (waiting === undefined) lines.set(storage, (waiting = new Map<string, Promise<void>>()))
  const before = waiting.get(key)
  const { promise, resolve } = Promise.withResolvers<void>()
  waiting.set(key, promise)
  await before
  return () => {
    if (waiting.get(key) === promise) waiting.delete(key)
    resolve()
  }
}
