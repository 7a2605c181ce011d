import type { KubeObject } from "../../apimachinery/resource.ts"
import { realClock } from "../../clock/real.ts"
import { StorageError, type Storage, type Stored } from "../storage.ts"
import { ReplicatedStorage } from "./replicated.ts"
import type { SharedLog } from "./shared-log.ts"

/** Opens a store over a real log, in real time. */
export const openStore = (log: SharedLog): Promise<ReplicatedStorage> =>
  ReplicatedStorage.open({ clock: realClock, log, parse: (_, json) => JSON.parse(json) as KubeObject })

/** Writes an object whose name is the last part of its key. */
export const put = (store: Storage, key: string, data: unknown = 1, expected?: number): Promise<Stored> =>
  store.write({
    key,
    object: { apiVersion: "v1", kind: "Thing", metadata: { name: key }, data } as KubeObject,
    expected,
    time: 1,
    author: "tester",
  })

/** Writes an object with a time to live. */
export const putFor = (store: Storage, key: string, ttlSeconds: number): Promise<Stored> =>
  store.write({
    key,
    object: { apiVersion: "v1", kind: "Thing", metadata: { name: key } },
    expected: undefined,
    time: 1,
    author: "tester",
    ttlSeconds,
  })

/** Resolves to the code of the error, or to `ok`. */
export const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "ok",
    (err: unknown) => (err instanceof StorageError ? err.code : String(err)),
  )

/** Resolves when the store has a problem of this code; with undefined, when it has none. */
export async function hasProblem(store: Storage, code: string | undefined): Promise<void> {
  while (store.problem?.code !== code) await Bun.sleep(20)
}
