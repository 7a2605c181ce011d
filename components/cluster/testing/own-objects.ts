import { deepFreeze } from "../../../pkg/apimachinery/deep-freeze.ts"
import type { ApiCall, Transport } from "../../../pkg/client/client.ts"

/**
 * Which objects of a cluster are frozen: those that the test is given, which are the store's own, or all of them as
 * soon as they are stored. The engine copies frozen objects slowly, so that all of them cost a run some 20 % of its
 * time.
 */
export type Frozen = "given" | "all" | "none"

/**
 * As the option says; without one all objects are frozen where `K3TS_FROZEN` is `all`: k3ts's own tests find so what
 * changes a shared object in its components.
 */
export function frozenFrom(option: boolean | undefined): Frozen {
  if (option === undefined) return process.env["K3TS_FROZEN"] === "all" ? "all" : "given"
  return option ? "given" : "none"
}

/**
 * The same transport for a test: what it gives is frozen if asked, and what it takes is copied, so that the test's own
 * objects stay the test's to change.
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

/** A deep copy of lists and plain objects. Anything else is not JSON, and for the API server to refuse. */
function copied<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(copied) as T
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) copy[key] = copied((value as Record<string, unknown>)[key])
  return copy as T
}
