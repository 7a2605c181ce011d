import type { KubeObject, Resource } from "../../pkg/apimachinery/resource.ts"
import type { Client, ListOptions } from "../../pkg/client/client.ts"

/** Resolves with the first object of a list for which `wanted` holds. @throws Error after `limitMs` */
export function until<T extends KubeObject>(
  client: Client,
  resource: Resource<T>,
  options: ListOptions,
  wanted: (object: T) => boolean,
  limitMs: number,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const timer = setTimeout(() => reject(new Error(`No ${resource.kind} as wanted after ${limitMs} ms`)), limitMs)
  const watch = client.watch(resource, options, {
    onEvent(event) {
      if ((event.type === "ADDED" || event.type === "MODIFIED") && wanted(event.object)) resolve(event.object)
    },
    onEnd: (err) => reject(new Error(`The watch of ${resource.kind} has ended: ${err?.message ?? "no reason given"}`)),
  })
  return promise.finally(() => {
    clearTimeout(timer)
    watch.close()
  })
}
