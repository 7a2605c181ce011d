import type { Pod } from "../../../api/core/v1/pod/pod.ts"
import type { PodGroup } from "../../../api/scheduling/v1alpha2/podgroup.ts"
import { isPodTerminal, podCondition } from "../../../pods/pod-state.ts"
import { finding, type Finding } from "../../answer.ts"
import { askThrough, type Ward } from "../../doctor.ts"
import { POD_GROUPS, PODS, refOf } from "../../reading/kinds.ts"

/** How many pods of a group are named. */
const MOST_NAMES = 5

/** The pods of a group that have not ended. */
export const membersOf = (group: Pick<PodGroup, "metadata">, pods: readonly Pod[]): readonly Pod[] =>
  pods.filter(
    (pod) =>
      pod.metadata.namespace === group.metadata.namespace &&
      pod.spec.schedulingGroup?.podGroupName === group.metadata.name &&
      !isPodTerminal(pod),
  )

/** Returns what keeps the scheduler from looking at a pod of a group: the group is not there, or not complete. */
export async function incompleteGroup(pod: Pod, ward: Ward): Promise<readonly Finding[]> {
  const gang = await gangOf(pod, ward)
  if (gang === undefined) return []
  if (gang.group === undefined)
    return [
      finding("pod-group-missing", `it waits for its PodGroup ${gang.name}, which does not exist`, {
        hints: ["create the PodGroup, or leave out schedulingGroup in the pod"],
      }),
    ]
  return incomplete(gang.group, gang.members)
}

/** Returns that a gang has fewer pods than it needs; nothing where it has enough. */
export function incomplete(group: PodGroup, members: readonly Pod[]): readonly Finding[] {
  const { minCount = 0 } = group.spec.schedulingPolicy.gang ?? {}
  if (members.length >= minCount) return []
  return [
    finding(
      "gang-incomplete",
      `its gang waits for more pods: ${members.length} of ${minCount} pods of PodGroup ${nameOf(group)} are there`,
      {
        weight: "waiting",
        evidence: [`pods of the group: ${namesOf(members)}`],
        hints: ["see why whoever creates the pods has not created the others"],
      },
    ),
  ]
}

/** Returns why a pod that nodes would take alone has none: its gang does not fit. Nothing for a pod of no gang. */
export async function gangWithoutRoom(pod: Pod, ward: Ward): Promise<readonly Finding[]> {
  const gang = await gangOf(pod, ward)
  const minCount = gang?.group?.spec.schedulingPolicy.gang?.minCount
  if (gang?.group === undefined || minCount === undefined) return []
  const placed = gang.members.filter(({ spec }) => Boolean(spec.nodeName))
  if (placed.length >= minCount) return []
  const refused = gang.members.filter(isRefused)
  const [first] = refused
  // What keeps another pod of the gang from every node keeps them all.
  if (first !== undefined && first.metadata.uid !== pod.metadata.uid) {
    const { findings } = await askThrough(ward, refOf(first))
    if (findings.length > 0 && findings.every(({ cause }) => cause.code !== "gang-without-room")) return findings
  }
  const fit = gang.members.filter(({ spec, status }) => !spec.nodeName && findsNode({ status })).length
  const message = podCondition(first ?? pod, "PodScheduled")?.message
  return [
    finding(
      "gang-without-room",
      `its gang waits for room: ${placed.length + fit} of ${minCount} pods of PodGroup ${gang.name} find a node at the ` +
        "same time, and none gets one before",
      {
        weight: pod.status.nominatedNodeName ? "waiting" : "broken",
        evidence: message === undefined ? [] : [`scheduler, about pod ${(first ?? pod).metadata.name}: ${message}`],
        hints: ["end other pods, add a node, request less, or use a PodGroup with a smaller minCount"],
      },
    ),
  ]
}

/** The scheduler has found a node for the pod, but not for enough of its gang. */
const findsNode = ({ status }: Pick<Pod, "status">): boolean =>
  status.conditions?.some(
    ({ type, message = "" }) => type === "PodScheduled" && message.includes("waiting for minCount pods"),
  ) === true

/** The scheduler has found no node for the pod itself. */
const isRefused = (pod: Pod): boolean => podCondition(pod, "PodScheduled")?.message?.startsWith("0/") === true

interface Gang {
  /** `<namespace>/<name>`. */
  readonly name: string
  readonly group: PodGroup | undefined
  readonly members: readonly Pod[]
}

/** Returns the group of a pod; undefined for a pod of none, and where the cluster has no PodGroups. */
async function gangOf({ metadata, spec }: Pod, { reader }: Ward): Promise<Gang | undefined> {
  const name = spec.schedulingGroup?.podGroupName
  const { namespace = "" } = metadata
  if (name === undefined) return undefined
  const groups = await reader.listIfAllowed(POD_GROUPS, namespace)
  if (groups === undefined) return undefined
  const group = groups.find((one) => one.metadata.name === name)
  const members = membersOf({ metadata: { namespace, name } }, await reader.list(PODS, namespace))
  return { name: `${namespace}/${name}`, group, members }
}

const nameOf = ({ metadata }: PodGroup): string => `${metadata.namespace}/${metadata.name}`

function namesOf(pods: readonly Pod[]): string {
  if (pods.length === 0) return "none"
  const names = pods.slice(0, MOST_NAMES).map(({ metadata }) => metadata.name)
  return `${names.join(", ")}${pods.length > MOST_NAMES ? ` and ${pods.length - MOST_NAMES} more` : ""}`
}
