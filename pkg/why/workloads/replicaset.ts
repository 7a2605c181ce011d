import { doctor, healthy, unwell } from "../doctor.ts"
import { isPodReady } from "../../pods/pod-state.ts"
import { CONTROLLERS, REPLICA_SETS } from "../reading/kinds.ts"
import type { ReplicaSet } from "../../api/apps/v1/replicaset.ts"
import type { ReplicationController } from "../../api/core/v1/replicationcontroller.ts"
import type { Finding, Opinion } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { creationFinding } from "./creation.ts"
import { notCreated, podFindings, podsOfOwner } from "./pods.ts"

async function examine(set: ReplicaSet | ReplicationController, ward: Ward): Promise<Opinion> {
  const wanted = set.spec.replicas ?? 1
  const pods = await podsOfOwner(set, ward)
  const ready = pods.filter(isPodReady).length
  const summary = `${ready} of ${wanted} pods are ready`
  const live = pods.filter(({ status }) => !["Failed", "Succeeded"].includes(status.phase ?? ""))
  const creation = live.length < wanted ? await creationFinding(set, "a pod", ward) : undefined
  // Pods that have failed are replaced, and stay until somebody deletes them.
  const isWhole = ready >= wanted && live.length <= ready
  const examined = isWhole ? live : pods
  const findings = [...(creation === undefined ? [] : [creation]), ...(await podFindings(examined, ward))]
  if (ready >= wanted && findings.length === 0)
    return healthy(summary, isWhole ? asNotes(await podFindings(pods, ward)) : [])
  if (findings.length > 0) return unwell(summary, findings)
  return unwell(summary, live.length < wanted ? [notCreated(set, live.length, wanted, pods, ward)] : [])
}

const asNotes = (findings: readonly Finding[]): readonly Finding[] =>
  findings.map((one) => ({ ...one, weight: "note" }))

export const replicaSetDoctor = doctor(REPLICA_SETS, examine)
export const replicationControllerDoctor = doctor(CONTROLLERS, examine)
