import type { ClusterParts } from "../cluster-parts.ts"
import { addressOf } from "../network/service-names.ts"

/** Milliseconds after which a request without an answer fails. */
const TIMEOUT_MS = 30_000

/** Sends a request from a simulated pod, to a pod or a Service, and lets time go on until the answer. */
export function fetchAsPod(
  { driver, nodes, random, storage }: Pick<ClusterParts, "driver" | "nodes" | "random" | "storage">,
  request: Request,
): Promise<Response> {
  const { host, port } = addressOf(new URL(request.url), storage, random)
  return driver.ended(
    () => `fetch waits for the answer of ${request.url}`,
    nodes.network.fetch(request, host, port, TIMEOUT_MS),
  )
}
