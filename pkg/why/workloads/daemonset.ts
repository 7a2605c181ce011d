import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { DaemonSet } from "../../api/apps/v1/daemonset.ts"
import { TAINT } from "../../api/core/v1/node/taints.ts"
import { isPodReady } from "../../pods/pod-state.ts"
import { finding, mend, type Finding } from "../answer.ts"
import { doctor, healthy, unwell, type Ward } from "../doctor.ts"
import { obstaclesFor, type Obstacle } from "../pod/placement/obstacles.ts"
import { DAEMON_SETS, NODES, refOf } from "../reading/kinds.ts"
import { wordsOf } from "../workload.ts"
import { creationFinding } from "./creation.ts"
import { notCreated, podFindings, podsOfOwner, timesOf } from "./pods.ts"
import { command } from "../command.ts"
import { changedAt, latest, PROGRESS_MS, REACTION_MS, within } from "../under-way.ts"

export const daemonSetDoctor = doctor(DAEMON_SETS, async (set, ward) => {
  const pods = await podsOfOwner(set, ward)
  const { desiredNumberScheduled: desired = 0 } = set.status
  const ready = pods.filter(isPodReady).length
  const summary = `${ready} of ${desired} nodes run a pod that is ready`
  const without = await nodesWithout(set, pods, ward)
  const findings: Finding[] = [...(await podFindings(pods, ward))]
  const creation = pods.length < desired ? await creationFinding(set, "a pod", ward) : undefined
  if (creation !== undefined) findings.push(creation)
  // Its controller counts the nodes when it first looks at it.
  if ((set.status.observedGeneration ?? 0) === 0)
    return unwell("is new", [within(unseen, ward.reader.now, changedAt(set), REACTION_MS)])
  if (desired === 0) return unwell("is on no node", without.length > 0 ? without : findings)
  const notes = without.map((one): Finding => ({ ...one, weight: "note" }))
  if (findings.length > 0) return unwell(summary, [...findings, ...notes])
  const update = updateFinding(set, pods, ward)
  if (update !== undefined) return unwell(summary, [update, ...notes])
  return ready >= desired
    ? healthy(summary, notes)
    : unwell(summary, [notCreated(set, pods.length, desired, pods, ward), ...notes])
})

const unseen = finding(
  "controller-behind",
  "the controller has not looked at it yet; perhaps the controller-manager does not run",
  { weight: "waiting", sure: false },
)

/** The taints that pods of DaemonSets tolerate. Source: controller/daemon/util AddOrUpdateDaemonPodTolerations. */
const TOLERATED = [
  TAINT.notReady,
  TAINT.unreachable,
  TAINT.diskPressure,
  TAINT.memoryPressure,
  TAINT.pidPressure,
  TAINT.unschedulable,
].map((key) => ({ key, operator: "Exists" as const }))

/** Returns why nodes have no pod of a DaemonSet, those with the same reason together. */
async function nodesWithout(set: DaemonSet, pods: readonly Pod[], ward: Ward): Promise<readonly Finding[]> {
  const nodes = await ward.reader.list(NODES)
  const taken = new Set(pods.map((pod) => pod.spec.nodeName ?? ""))
  const spec = set.spec.template.spec
  const like = {
    metadata: { namespace: set.metadata.namespace, labels: set.spec.template.metadata?.labels },
    spec: { ...spec, tolerations: [...(spec.tolerations ?? []), ...TOLERATED] },
    status: {},
  } as unknown as Pod
  const obstaclesOn = obstaclesFor(like, {
    nodes,
    pods: [],
    namespaceLabels: () => undefined,
    volumes: [],
    openClaims: [],
    volumeLimits: () => [],
  })
  const byReason = new Map<string, Obstacle[]>()
  for (const node of nodes) {
    if (pods.some((pod) => isFor(pod, node.metadata.name ?? "")) || taken.has(node.metadata.name ?? "")) continue
    const [obstacle] = obstaclesOn(node)
    if (obstacle !== undefined)
      byReason.set(obstacle.code + obstacle.says, [...(byReason.get(obstacle.code + obstacle.says) ?? []), obstacle])
  }
  return [...byReason.values()].map((all) => {
    const [{ code, says, mend: own }] = all as [Obstacle, ...Obstacle[]]
    const names = all.map(({ node }) => node)
    const selector = code === "node-selector" ? Object.entries(spec.nodeSelector ?? {}) : []
    const labels = selector.map(([key, value]) => `${key}=${value}`)
    return finding(
      code,
      `it has no pod on ${names.length === 1 ? `node ${names[0]}, which` : `nodes ${names.join(", ")}: each`} ${says}`,
      {
        mends: [
          ...(own !== undefined && all.length === 1 ? [own] : []),
          ...(labels.length === 0
            ? []
            : [mend(command`kubectl label node ${names} --overwrite ${labels}`, "gives the nodes what it looks for")]),
        ],
        hints: code === "taint-not-tolerated" ? ["or give its pods a toleration of this taint"] : [],
      },
    )
  })
}

/** Whether a pod of a DaemonSet is meant for a node, which its affinity names. */
const isFor = ({ spec }: Pod, node: string): boolean =>
  spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms.some(
    ({ matchFields }) =>
      matchFields?.some(({ key, values }) => key === "metadata.name" && values?.includes(node)) === true,
  ) === true

function updateFinding(set: DaemonSet, pods: readonly Pod[], { reader }: Ward): Finding | undefined {
  const { updatedNumberScheduled: updated = 0, desiredNumberScheduled: desired = 0 } = set.status
  if (updated >= desired) return undefined
  if (set.spec.updateStrategy?.type === "OnDelete")
    return finding(
      "rollout-on-delete",
      `${updated} of ${desired} pods have the new template: with updateStrategy OnDelete a pod gets it when it is deleted`,
    )
  const going = finding("rollout-goes-on", `${updated} of ${desired} pods have the new template`, {
    weight: "waiting",
    hints: [command`kubectl rollout status ${wordsOf(refOf(set))}`],
  })
  return within(going, reader.now, latest([changedAt(set), ...pods.flatMap(timesOf)]), PROGRESS_MS)
}
