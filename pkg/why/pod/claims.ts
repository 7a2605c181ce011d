import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { PersistentVolumeClaim } from "../../api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { claimNamesOf } from "../../pods/pod-claims.ts"
import type { Finding } from "../answer.ts"
import { behind, type Ward } from "../doctor.ts"
import { CLAIMS, refTo, STORAGE_CLASSES, VOLUMES } from "../reading/kinds.ts"
import type { BoundVolume } from "./placement/bound-volumes.ts"
import { pushAll } from "../../lists/push-all.ts"

/** Returns what is wrong with a pod's claims, and the volumes of those that are bound. */
export async function claimsOf(
  pod: Pod,
  ward: Ward,
): Promise<{ readonly findings: readonly Finding[]; readonly bound: readonly BoundVolume[] }> {
  const findings: Finding[] = []
  const bound: BoundVolume[] = []
  for (const name of claimNamesOf(pod)) {
    const { namespace = "" } = pod.metadata
    const ref = refTo(CLAIMS, namespace, name)
    const claim = await ward.reader.get(CLAIMS, namespace, name)
    if (claim?.status.phase === "Bound") {
      const volume = await ward.reader.get(VOLUMES, undefined, claim.spec.volumeName ?? "")
      if (volume !== undefined) bound.push({ claim: name, volume })
    } else if (claim !== undefined && !pod.spec.nodeName && (await waitsForPod(claim, ward))) continue
    const opinion = await ward.ask(ref)
    // A claim that waits for its first pod waits for this one.
    pushAll(
      findings,
      opinion.findings
        .filter(({ weight, cause }) => weight !== "note" && cause.code !== "claim-waits-for-pod")
        .map((one) => behind({ object: ref, says: opinion.summary }, one)),
    )
  }
  return { findings, bound }
}

/** Whether a claim is bound only when a pod that uses it is scheduled. */
export async function waitsForPod({ spec }: PersistentVolumeClaim, { reader }: Ward): Promise<boolean> {
  if (!spec.storageClassName) return false
  const found = await reader.get(STORAGE_CLASSES, undefined, spec.storageClassName)
  return found?.volumeBindingMode === "WaitForFirstConsumer"
}
