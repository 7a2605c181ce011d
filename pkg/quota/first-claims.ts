import type { ResourceClaim } from "../api/resource/v1/resourceclaim.ts"
import { EXTENDED_RESOURCE_CLAIM } from "../api/resource/v1/extended-resources.ts"

/** Where the claims for devices of a namespace are read, and the revision of what is read. */
export interface ClaimSource {
  readonly revision: () => number
  readonly list: (namespace: string) => readonly ResourceClaim[]
}

/**
 * Returns a function that finds the oldest claim, and of several of one second the first by name, that was created for
 * the extended resources of the pod with a UID. The claims of a namespace are read once for each revision, since a
 * quota asks for each of them.
 */
export function firstClaims({
  revision,
  list,
}: ClaimSource): (namespace: string, podUid: string) => string | undefined {
  let known = { namespace: "", revision: -1, names: new Map<string, string>() }
  return (namespace, podUid) => {
    const now = revision()
    if (known.namespace !== namespace || known.revision !== now)
      known = { namespace, revision: now, names: firstByPod(list(namespace)) }
    return known.names.get(podUid)
  }
}

function firstByPod(claims: readonly ResourceClaim[]): Map<string, string> {
  const first = new Map<string, ResourceClaim>()
  for (const claim of claims) {
    const uid = podOf(claim)?.uid
    if (uid === undefined) continue
    const before = first.get(uid)
    if (before === undefined || isBefore(claim, before)) first.set(uid, claim)
  }
  return new Map([...first].map(([uid, { metadata }]) => [uid, metadata.name ?? ""]))
}

function isBefore({ metadata: a }: ResourceClaim, { metadata: b }: ResourceClaim): boolean {
  const [ours, theirs] = [a.creationTimestamp ?? "", b.creationTimestamp ?? ""]
  return ours === theirs ? (a.name ?? "") < (b.name ?? "") : ours < theirs
}

/** Returns the pod for whose extended resources the scheduler created a claim. */
export function podOf({ metadata: { annotations, ownerReferences } }: ResourceClaim) {
  if (annotations?.[EXTENDED_RESOURCE_CLAIM] !== "true") return undefined
  const owner = ownerReferences?.find(({ controller }) => controller === true)
  return owner?.kind === "Pod" && owner.apiVersion === "v1" ? owner : undefined
}
