import type { ApiError } from "../../pkg/apimachinery/errors.ts"
import { startCluster } from "../cluster/testing/testing.ts"

export const start = () => startCluster({ components: { controllers: false, scheduler: false } })
export const failure = async (promise: Promise<unknown>): Promise<ApiError> =>
  promise.then(
    () => {
      throw new Error("it was expected to fail")
    },
    (err: ApiError) => err,
  )
export const pod = (name: string, more: object = {}) => ({
  metadata: { name, namespace: "default" },
  spec: { containers: [{ name: "c", image: "i" }], ...more },
})
