import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { claimNamesOf } from "../../pods/pod-claims.ts"
import type { Finding } from "../answer.ts"
import { behind, type Ward } from "../doctor.ts"
import { CLAIMS, refTo, VOLUMES } from "../reading/kinds.ts"
import type { BoundVolume } from "./placement/bound-volumes.ts"
import { openClaim, type OpenClaim } from "./placement/open-claims.ts"
import { pushAll } from "../../lists/push-all.ts"

/** Causes of claims that keep no pod from using them. */
const HARMLESS: readonly string[] = ["claim-waits-for-pod", "resize-failed"]

export interface PodClaims {
  readonly findings: readonly Finding[]
  readonly bound: readonly BoundVolume[]
  readonly open: readonly OpenClaim[]
}

/** Returns what is wrong with a pod's claims, the volumes of those that are bound, and those that wait for its node. */
export async function claimsOf(pod: Pod, ward: Ward): Promise<PodClaims> {
  const findings: Finding[] = []
  const bound: BoundVolume[] = []
  const open: OpenClaim[] = []
  for (const name of claimNamesOf(pod)) {
    const { namespace = "" } = pod.metadata
    const ref = refTo(CLAIMS, namespace, name)
    const claim = await ward.reader.get(CLAIMS, namespace, name)
    if (claim?.status.phase === "Bound") {
      const volume = await ward.reader.get(VOLUMES, undefined, claim.spec.volumeName ?? "")
      if (volume !== undefined) bound.push({ claim: name, volume })
    } else if (claim !== undefined && !pod.spec.nodeName) {
      const waiting = await openClaim(claim, ward)
      if (waiting !== undefined) open.push(waiting)
    }
    const opinion = await ward.ask(ref)
    // A claim that waits for its first pod waits for this one, and one that cannot grow is as usable as before.
    pushAll(
      findings,
      opinion.findings
        .filter(({ weight, cause }) => weight !== "note" && !HARMLESS.includes(cause.code))
        .map((one) => behind({ object: ref, says: opinion.summary }, one)),
    )
  }
  return { findings, bound, open }
}
