import type { Pod } from "../../../api/core/v1/pod/pod.ts"
import { claimNamesOf } from "../../../pods/pod-claims.ts"
import { finding, type Finding } from "../../answer.ts"
import type { Ward } from "../../doctor.ts"
import { CLAIMS, CSI_NODES, VOLUMES } from "../../reading/kinds.ts"

/** Returns the names of CSI volumes by driver that pods use, each as `<driver>/<handle>`. */
async function attachedBy(pods: readonly Pod[], { reader }: Ward): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for (const pod of pods)
    for (const name of claimNamesOf(pod)) {
      const claim = await reader.get(CLAIMS, pod.metadata.namespace, name)
      const volume = claim?.spec.volumeName ? await reader.get(VOLUMES, undefined, claim.spec.volumeName) : undefined
      const csi = volume?.spec.csi
      if (csi !== undefined) found.set(`${csi.driver}/${csi.volumeHandle}`, csi.driver)
    }
  return found
}

/** Returns what keeps the CSI volumes of a pod from a node: its driver has as many there as it may. By node. */
export async function volumeLimits(
  pod: Pod,
  pods: readonly Pod[],
  ward: Ward,
): Promise<(node: string) => readonly string[]> {
  const wanted = await attachedBy([pod], ward)
  const full = new Map<string, readonly string[]>()
  for (const { metadata, spec } of wanted.size === 0 ? [] : ((await ward.reader.listIfAllowed(CSI_NODES)) ?? [])) {
    const { name = "" } = metadata
    const there = await attachedBy(
      pods.filter((other) => other.spec.nodeName === name),
      ward,
    )
    const words = (spec.drivers ?? []).flatMap(({ name: driver, allocatable }) => {
      const most = allocatable?.count
      const count = (of: ReadonlyMap<string, string>) => [...of.values()].filter((one) => one === driver).length
      const added = [...wanted].filter(([id, of]) => of === driver && !there.has(id)).length
      return most !== undefined && added > 0 && count(there) + added > most
        ? [`has ${count(there)} volumes of ${driver} and may have ${most}`]
        : []
    })
    full.set(name, words)
  }
  return (node) => full.get(node) ?? []
}

/** Returns which claim of a pod only one pod may use, and another one does. */
export async function claimInUse(pod: Pod, pods: readonly Pod[], { reader }: Ward): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  for (const name of claimNamesOf(pod)) {
    const claim = await reader.get(CLAIMS, pod.metadata.namespace, name)
    if (claim?.spec.accessModes?.includes("ReadWriteOncePod") !== true) continue
    const holder = pods.find(
      (other) =>
        other.metadata.uid !== pod.metadata.uid &&
        other.metadata.namespace === pod.metadata.namespace &&
        claimNamesOf(other).includes(name),
    )
    if (holder !== undefined)
      findings.push(
        finding(
          "claim-in-use",
          `claim ${name} may be used by one pod at a time (ReadWriteOncePod), and pod ${holder.metadata.namespace}/${holder.metadata.name} uses it`,
          { hints: ["end that pod, or use a claim with ReadWriteOnce or ReadWriteMany"] },
        ),
      )
  }
  return findings
}
