/** Objects and writes for tests of a store in a file. */
import type { KubeObject } from "../../apimachinery/resource.ts"
import type { StorageError, Write } from "../storage.ts"

export const object = (name: string, data: unknown = 1): KubeObject & { data: unknown } => ({
  apiVersion: "v1",
  kind: "Thing",
  metadata: { name },
  data,
})
export const put = (key: string, value: KubeObject | null, expected?: number, highChurn = false): Write => ({
  key,
  object: value,
  expected,
  time: 1000,
  author: "tester",
  highChurn,
})
export const errorOf = async (promise: Promise<unknown>): Promise<StorageError> =>
  promise.then(
    () => {
      throw new Error("expected the write to fail")
    },
    (err: StorageError) => err,
  )
