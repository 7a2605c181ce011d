import type { ApiCall, Transport } from "../../../../pkg/client/client.ts"
import type { Driver } from "./driver.ts"
import type { LastSeen } from "../history/last-seen.ts"

export interface DrivenOptions {
  readonly driver: Driver
  /** Records what was read. */
  readonly seen: LastSeen
  readonly user: string
}

/**
 * Wraps a transport for a test: virtual time advances while the test awaits a call, since the call may wait for time.
 */
export const drivenTransport = (transport: Transport, { driver, seen, user }: DrivenOptions): Transport => ({
  async call(call, signal) {
    const answer = await driver.ended(() => `${user} waits for ${inWords(call)}`, transport.call(call, signal))
    seen.note(call, answer)
    return answer
  },
  watch: (resource, options, handlers) => transport.watch(resource, options, handlers),
})

/** Returns a call in words: `create pods/eviction default/web-0`. */
function inWords({ verb, resource, subresource, namespace, name, object }: ApiCall): string {
  const path = subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`
  const which = [namespace, name ?? object?.metadata?.name].filter((part) => part !== undefined).join("/")
  return [verb, path, which].filter((part) => part !== "").join(" ")
}
