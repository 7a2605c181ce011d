import type { Node } from "../../../api/core/v1/node/node.ts"
import type { PersistentVolume } from "../../../api/core/v1/persistentvolume/persistentvolume.ts"
import type { PersistentVolumeClaim } from "../../../api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import type { StorageClass } from "../../../api/storage/v1/storageclass.ts"
import type { Ward } from "../../doctor.ts"
import { STORAGE_CLASSES, VOLUMES } from "../../reading/kinds.ts"
import { misfit, NO_PROVISIONER } from "../../storage/misfit.ts"
import { isReachedFrom } from "./bound-volumes.ts"

/** A claim whose volume is chosen or made for the node of its first pod (WaitForFirstConsumer). */
export interface OpenClaim {
  readonly name: string
  readonly class: StorageClass
  /** The volumes that it can get; empty where its class makes them. */
  readonly volumes: readonly PersistentVolume[]
}

/** Returns what is known of an unbound claim that waits for the node of its pod; undefined for other claims. */
export async function openClaim(claim: PersistentVolumeClaim, { reader }: Ward): Promise<OpenClaim | undefined> {
  const { metadata, spec } = claim
  const found = await reader.get(STORAGE_CLASSES, undefined, spec.storageClassName ?? "")
  if (found?.volumeBindingMode !== "WaitForFirstConsumer" || spec.volumeName) return undefined
  const all = found.provisioner === NO_PROVISIONER ? await reader.list(VOLUMES) : []
  return {
    name: metadata.name ?? "",
    class: found,
    volumes: all.filter((volume) => misfit(claim, volume) === undefined),
  }
}

/** Returns which open claims can get no volume that a node reaches. */
export const openClaimObstacles = (claims: readonly OpenClaim[], node: Node): readonly string[] =>
  claims.flatMap(({ name, class: { provisioner, allowedTopologies = [], metadata }, volumes }) => {
    if (provisioner === NO_PROVISIONER) {
      if (volumes.length === 0 || volumes.some((volume) => isReachedFrom(volume, node))) return []
      const names = volumes.map((volume) => volume.metadata.name ?? "").slice(0, MOST)
      return [
        `cannot reach ${names.join(", ")}, which claim ${name} could get: ${names.length === 1 ? "it is" : "they are"} on another node`,
      ]
    }
    const terms = allowedTopologies.map(({ matchLabelExpressions = [] }) => matchLabelExpressions)
    if (terms.length === 0 || terms.some((term) => term.every(({ key, values }) => isAmong(node, key, values))))
      return []
    const words = terms.map((term) => term.map(({ key, values }) => `${key} is ${values.join(" or ")}`).join(" and "))
    return [`is not where class ${metadata.name ?? ""} of claim ${name} may make volumes: where ${words.join(", or ")}`]
  })

/** How many volumes are named. */
const MOST = 5

const isAmong = (node: Node, key: string, values: readonly string[]): boolean =>
  values.includes(node.metadata.labels?.[key] ?? "")
