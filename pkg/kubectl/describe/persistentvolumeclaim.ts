import type { PersistentVolumeClaim } from "../../api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { describeClaim } from "./claims.ts"
import { listInChunks } from "./describe-client.ts"
import type { Describer, Describing } from "./describing.ts"
import { describeEvents, eventsOf } from "./events.ts"
import { PODS } from "./pod.ts"
import { description, type PrefixWriter } from "./prefix-writer.ts"
import { longTime } from "./times.ts"

const CLAIMS = { group: "", version: "v1", resource: "persistentvolumeclaims" }

export const describePersistentVolumeClaim: Describer = async (describing, namespace, name) => {
  const claim = await describing.client.get<PersistentVolumeClaim>(CLAIMS, namespace, name)
  const pods = await podsOf(describing, claim)
  const events = await eventsOf(describing, claim)
  return description((w) => {
    describeClaim(w, claim, describing, true)
    w.write(0, "Used By:\t")
    if (pods.length === 0) w.line("<none>")
    for (const [i, pod] of pods.toSorted().entries()) w.write(0, `${i === 0 ? "" : "\t"}${pod}\n`)
    describeConditions(w, claim, describing)
    describeEvents(w, events, describing.now())
  })
}

/** Returns the names of the pods that use a claim, or own it. Source: getPodsForPVC. */
async function podsOf({ client, chunkSize }: Describing, { metadata }: PersistentVolumeClaim): Promise<string[]> {
  const { namespace = "", name, ownerReferences = [] } = metadata
  const pods = await listInChunks<Pod>(client, { path: PODS, namespace, query: {}, limit: chunkSize })
  // A pod that has the claim in two volumes is listed twice.
  const users = pods.flatMap((pod) =>
    (pod.spec.volumes ?? []).filter((volume) => volume.persistentVolumeClaim?.claimName === name).map(() => pod),
  )
  for (const { kind, uid } of ownerReferences) {
    const owner = kind === "Pod" ? pods.find((pod) => pod.metadata.uid === uid) : undefined
    if (owner !== undefined && !users.includes(owner)) users.push(owner)
  }
  return users.map((pod) => pod.metadata.name ?? "")
}

function describeConditions(w: PrefixWriter, { status }: PersistentVolumeClaim, { zone }: Describing): void {
  const conditions = status?.conditions ?? []
  if (conditions.length === 0) return
  w.row(0, "Conditions:")
  w.row(1, "Type", "Status", "LastProbeTime", "LastTransitionTime", "Reason", "Message")
  w.row(1, "----", "------", "-----------------", "------------------", "------", "-------")
  for (const { type, status, lastProbeTime, lastTransitionTime, reason = "", message = "" } of conditions) {
    const [probed, changed] = [longTime(lastProbeTime, zone), longTime(lastTransitionTime, zone)]
    w.row(1, `${type} `, `${status} `, `${probed} `, `${changed} `, `${reason} `, message)
  }
}
