import type { KubeObject } from "../apimachinery/resource.ts"

/** Fields that many kinds have and that show the state of an object. */
interface Telling {
  readonly spec?: { readonly replicas?: number; readonly nodeName?: string }
  readonly status?: {
    readonly phase?: string
    readonly replicas?: number
    readonly readyReplicas?: number
    readonly numberReady?: number
    readonly desiredNumberScheduled?: number
    readonly active?: number
    readonly succeeded?: number
    readonly failed?: number
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

/** Returns an object in one line: `Pod default/web-0: Pending, not Ready, on node-1`. */
export function shortForm(object: KubeObject): string {
  const { kind, metadata } = object
  const name = `${kind} ${metadata.namespace === undefined ? "" : `${metadata.namespace}/`}${metadata.name}`
  // Absent fields are left out, whatever the kind.
  const state = stateOf(object as unknown as Telling)
  if (metadata.deletionTimestamp !== undefined) state.push("being deleted")
  return state.length === 0 ? name : `${name}: ${state.join(", ")}`
}

function stateOf({ spec = {}, status = {} }: Telling): string[] {
  const state: string[] = []
  if (status.phase !== undefined) state.push(status.phase)
  const wanted = status.desiredNumberScheduled ?? spec.replicas
  if (wanted !== undefined)
    state.push(
      `${status.readyReplicas ?? status.numberReady ?? 0} of ${wanted} ready, ${status.replicas ?? wanted} there`,
    )
  for (const of of ["active", "succeeded", "failed"] as const)
    if ((status[of] ?? 0) > 0) state.push(`${status[of]} ${of}`)
  const ready = status.conditions?.find(({ type }) => type === "Ready" || type === "Available")
  if (ready !== undefined && status.phase !== "Succeeded")
    state.push(ready.status === "True" ? ready.type : `not ${ready.type}`)
  if (spec.nodeName) state.push(`on ${spec.nodeName}`)
  return state
}
