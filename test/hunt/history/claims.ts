import type { PersistentVolume, PersistentVolumeClaim } from "../../../components/cluster/testing/testing.ts"
import { nameOf } from "../world.ts"
import type { WriteInvariant } from "./write.ts"

/**
 * A bound claim stays with its volume, no two claims have the same one, and a volume serves only the claim that it
 * names. Source: pkg/controller/volume/persistentvolume/pv_controller.go.
 */
export const bindsOnce: WriteInvariant = ({ type, object, previous }, seen) => {
  if (object.kind !== "PersistentVolumeClaim" || type === "delete") return []
  const [claim, before] = [object as PersistentVolumeClaim, previous as PersistentVolumeClaim | undefined]
  const name = claim.spec.volumeName ?? ""
  const was = before?.spec.volumeName ?? ""
  if (was !== "" && was !== name) return [`${nameOf(claim)} was bound to ${was} and then to ${name}`]
  if (name === "" || claim.status.phase !== "Bound" || before?.status.phase === "Bound") return []
  const others = seen
    .all<PersistentVolumeClaim>("PersistentVolumeClaim")
    .filter(
      (one) => one.metadata.uid !== claim.metadata.uid && one.spec.volumeName === name && one.status.phase === "Bound",
    )
  const volumes = seen
    .allRecent<PersistentVolume>("PersistentVolume")
    .filter(([one]) => one?.metadata.name === name)
    .flat()
  return [
    ...others.map((other) => `${nameOf(claim)} and ${nameOf(other)} are bound to ${name}`),
    ...(volumes.some(({ spec }) => spec.claimRef?.uid === claim.metadata.uid)
      ? []
      : [`${nameOf(claim)} is bound to ${name}, which names ${volumes.at(-1)?.spec.claimRef?.name}`]),
  ]
}
