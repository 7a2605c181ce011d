import type { KubeObject } from "../../../apimachinery/resource.ts"
import type { Pod } from "../../../api/core/v1/pod/pod.ts"
import { claimNamesOf } from "../../../pods/pod-claims.ts"
import { finding, type Finding } from "../../answer.ts"
import type { Ward } from "../../doctor.ts"
import { CLAIMS, CSI_NODES, VOLUMES } from "../../reading/kinds.ts"

/** Returns the drivers of the CSI volumes that pods use, by `<driver>/<handle>`. */
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
  const full = new Map<string, readonly string[]>()
  const wanted = await attachedBy([pod], ward)
  const drivers = new Set(wanted.values())
  const nodes = drivers.size === 0 ? [] : ((await ward.reader.listIfAllowed(CSI_NODES)) ?? [])
  const limiting = nodes.map(({ metadata, spec }) => ({
    name: metadata.name ?? "",
    drivers: (spec.drivers ?? []).filter(
      ({ name, allocatable }) => drivers.has(name) && allocatable?.count !== undefined,
    ),
  }))
  if (limiting.every((one) => one.drivers.length === 0)) return () => []
  // Read as a whole, the claims and volumes of all pods take two requests. Who may not read them is not told of limits.
  for (const kind of [CLAIMS, VOLUMES])
    if ((await ward.reader.listIfAllowed<KubeObject>(kind)) === undefined) return () => []
  const byNode = Map.groupBy(pods, ({ spec }) => spec.nodeName)
  for (const { name, drivers: limited } of limiting) {
    if (limited.length === 0) continue
    const there = await attachedBy(byNode.get(name) ?? [], ward)
    const words = limited.flatMap(({ name: driver, allocatable }) => {
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
