import { deepFreeze } from "../../../pkg/apimachinery/json/deep-freeze.ts"
import { setKey } from "../../../pkg/apimachinery/json/set-key.ts"
import type { ApiCall, Transport } from "../../../pkg/client/client.ts"

/**
 * Which objects of a cluster are frozen: `given`, those that the test gets, or `all` as soon as they are stored. The
 * engine copies frozen objects slowly, so `all` costs a run some 20 % more time.
 */
export type Frozen = "given" | "all" | "none"

/**
 * Returns the option's value. Without the option all objects are frozen when `K3TS_FROZEN` is `all`, by which k3ts's
 * own tests find code in components that changes a shared object.
 */
export function frozenFrom(option: boolean | undefined): Frozen {
  if (option === undefined) return process.env["K3TS_FROZEN"] === "all" ? "all" : "given"
  return option ? "given" : "none"
}

/**
 * Wraps a transport for a test: objects that it returns are frozen on request, and objects that it takes are copied, so
 * that the test may change its own objects.
 */
export function keepingApart(transport: Transport, { freeze }: { readonly freeze: boolean }): Transport {
  const given: <T>(value: T) => T = freeze ? deepFreeze : (value) => value
  return {
    call: async (call, signal) => given(await transport.call(withOwnObjects(call), signal)),
    watch: (resource, options, handlers) =>
      transport.watch(resource, options, {
        onEvent: (event) => handlers.onEvent(given(event)),
        onEnd: (error) => handlers.onEnd(error),
      }),
  }
}

const withOwnObjects = (call: ApiCall): ApiCall =>
  call.object === undefined && call.patch === undefined
    ? call
    : { ...call, object: copied(call.object), ...(call.patch === undefined ? {} : { patch: copied(call.patch) }) }

/** Returns a deep copy of lists and plain objects. Other values are not JSON, which the API server refuses. */
function copied<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(copied) as T
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) setKey(copy, key, copied((value as Record<string, unknown>)[key]))
  return copy as T
}
