/** Containers that run and do not become ready: what they do in a copy. */
import { deepEqual } from "../../../../pkg/apimachinery/json/equal.ts"
import type { Probe } from "../../../../pkg/api/core/v1/container/probe.ts"
import type { ImageBehaviour } from "../../../kubelet/runtime/simulated/containers/behaviour.ts"

/** What runs so long without becoming ready is not taken to become ready any more. */
const PATIENCE_MS = 60_000

/** Whether a container that has run for so long, and is not ready, is not taken to become ready. */
export const staysUnready = (runsMs: number, { listensAfterMs = 0 }: ImageBehaviour): boolean =>
  runsMs > PATIENCE_MS + listensAfterMs

/** Returns the behaviour that fails a readiness probe, and as far as possible no other. */
export function failing({ httpGet, exec, grpc }: Probe): ImageBehaviour {
  if (httpGet !== undefined) {
    const path = new URL(httpGet.path ?? "/", "http://pod").pathname
    return {
      listensAfterMs: 0,
      http: ({ url }) =>
        new URL(url).pathname === path ? new Response("not ready", { status: 503 }) : new Response("ok"),
    }
  }
  if (exec !== undefined) {
    const { command: asked = [] } = exec
    return { exec: (command) => (deepEqual(command, asked) ? 1 : 0) }
  }
  return grpc === undefined ? { listensAfterMs: Infinity } : { grpc: () => "NOT_SERVING" }
}
