import { smallest } from "../../../lists/extremes.ts"
import type { Pod } from "../../../api/core/v1/pod/pod.ts"
import { isPodTerminal, podCondition } from "../../../pods/pod-state.ts"
import { requestsOf } from "../../../api/core/v1/pod/resources/pod-requests.ts"
import { finding, type Finding, type Mend, mend, type ObjectRef } from "../../answer.ts"
import { askThrough, type Ward } from "../../doctor.ts"
import { NAMESPACES, NODES, PODS, PRIORITY_CLASSES, refTo } from "../../reading/kinds.ts"
import { patchCommand, wordsOf, workloadOf, type Workload } from "../../workload.ts"
import { cores, obstaclesFor, type Obstacle } from "./obstacles.ts"
import { gangWithoutRoom, incompleteGroup } from "./group.ts"
import type { Place } from "./place.ts"
import { deviceFindings } from "./devices.ts"
import { deviceShortage } from "./device-shortage.ts"
import { claimInUse, volumeLimits } from "./volume-limits.ts"
import type { PodClaims } from "../claims.ts"
import { command } from "../../command.ts"
import { changedAt, REACTION_MS, within } from "../../under-way.ts"

/** The scheduler of every cluster. */
const DEFAULT_SCHEDULER = "default-scheduler"

/** Returns why a pod has no node, where nothing is wrong with its claims. */
export async function placementFindings(
  pod: Pod,
  claims: Omit<PodClaims, "findings">,
  ward: Ward,
): Promise<readonly Finding[]> {
  const gates = pod.spec.schedulingGates ?? []
  if (gates.length > 0)
    return [
      finding(
        "scheduling-gated",
        `the scheduler does not look at it before its scheduling gates are gone: ${gates.map(({ name }) => name).join(", ")}`,
        { hints: ["the controller that set the gates removes them; see whether it runs"] },
      ),
    ]
  const incomplete = await incompleteGroup(pod, ward)
  if (incomplete.length > 0) return incomplete
  const condition = podCondition(pod, "PodScheduled")
  const { schedulerName = DEFAULT_SCHEDULER } = pod.spec
  if (schedulerName !== DEFAULT_SCHEDULER && condition === undefined)
    return [
      finding(
        "no-such-scheduler",
        `it waits for the scheduler ${schedulerName}, and none of this name has looked at it` +
          `; the scheduler of this cluster is ${DEFAULT_SCHEDULER}`,
        { evidence: ["the pod has no condition PodScheduled"] },
      ),
    ]
  const devices = await deviceFindings(pod, ward)
  if (devices.length > 0) return devices
  const [nodes, pods, namespaces] = [
    await ward.reader.list(NODES),
    await ward.reader.list(PODS),
    await ward.reader.listIfAllowed(NAMESPACES),
  ]
  const evidence = condition?.message === undefined ? [] : [`scheduler: ${condition.message}`]
  if (nodes.length === 0) return [finding("no-nodes", "the cluster has no nodes", { evidence })]
  const labels = new Map(namespaces?.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]))
  const placed = pods.filter((one) => Boolean(one.spec.nodeName) && !isPodTerminal(one))
  const inUse = await claimInUse(pod, placed, ward)
  if (inUse.length > 0) return inUse
  const place: Place = {
    nodes,
    pods: placed,
    namespaceLabels: (namespace) => labels.get(namespace),
    volumes: claims.bound,
    openClaims: claims.open,
    volumeLimits: await volumeLimits(pod, placed, ward),
  }
  const obstaclesOn = obstaclesFor(pod, place)
  const perNode = nodes.map((node) => ({ name: node.metadata.name ?? "", obstacles: obstaclesOn(node) }))
  const free = perNode.filter(({ obstacles }) => obstacles.length === 0)
  if (free.length === 0) return refusedByAll(pod, perNode, evidence, ward)
  const gang = await gangWithoutRoom(pod, ward)
  if (gang.length > 0) return gang
  if (condition === undefined)
    return [
      within(
        finding("not-scheduled-yet", `no scheduler has looked at it yet; ${names(free)} would take it`, {
          weight: "waiting",
          hints: ["if it stays so, see whether the scheduler runs"],
        }),
        ward.reader.now,
        changedAt(pod),
        REACTION_MS,
      ),
    ]
  const shortage = await deviceShortage(pod, ward)
  if (shortage.length > 0)
    return shortage.map((one) => ({ ...one, cause: { ...one.cause, evidence: [...one.cause.evidence, ...evidence] } }))
  // What the scheduler knows and this does not: limits of drivers, ports of the host itself.
  return [
    finding("unschedulable", `the scheduler finds no node: ${condition.message ?? ""}`, {
      evidence: [...evidence, `by CPU, memory, labels, taints and ports ${names(free)} would take it`],
      weight: /nominated|preempt/i.test(condition.message ?? "") && pod.status.nominatedNodeName ? "waiting" : "broken",
    }),
  ]
}

const names = (nodes: readonly { readonly name: string }[]): string =>
  nodes.length === 1 ? `node ${nodes[0]!.name}` : `nodes ${nodes.map(({ name }) => name).join(", ")}`

interface Refused {
  readonly name: string
  readonly obstacles: readonly Obstacle[]
}

/** How many nodes are told one by one. */
const MOST_NODES = 12

async function refusedByAll(
  pod: Pod,
  perNode: readonly Refused[],
  evidence: readonly string[],
  ward: Ward,
): Promise<readonly Finding[]> {
  const candidates = candidatesAmong(perNode)
  const fewest = smallest(candidates.map(({ obstacles }) => obstacles.length))
  // The mend that is nearest is at the nodes with the fewest obstacles.
  const nearest = candidates.filter(({ obstacles }) => obstacles.length === fewest)
  const codes = [...new Set(nearest.flatMap(({ obstacles }) => obstacles.map(({ code }) => code)))]
  const code = codes.toSorted((a, b) => countOf(nearest, b) - countOf(nearest, a))[0]!
  const lines = [...candidates, ...perNode.filter((one) => !candidates.includes(one))]
    .slice(0, MOST_NODES)
    .map(({ name, obstacles }) => `node ${name}: ${obstacles.map(({ says }) => says).join("; ")}`)
  if (perNode.length > MOST_NODES) lines.push(`and ${perNode.length - MOST_NODES} more nodes`)
  const first = nearest.find(({ obstacles }) => obstacles.some((one) => one.code === code))!
  const all =
    perNode.length === 1
      ? `node ${first.name}`
      : `none of ${perNode.length} nodes takes it; nearest is ${first.name}, which`
  const message = `${perNode.length === 1 ? `it fits on no node: ${all}` : all} ${first.obstacles.map(({ says }) => says).join("; ")}`
  const mends = fewest === 1 ? await mendsOf(pod, first.obstacles[0]!, nearest, ward) : []
  const own = finding(code, message, {
    evidence: [...lines, ...evidence],
    mends,
    hints: await hintsOf(
      pod,
      code,
      nearest.map(({ name }) => name),
      ward,
    ),
    weight: pod.status.nominatedNodeName ? "waiting" : "broken",
  })
  // That a node is not ready has a cause of its own.
  const sick = nearest.flatMap(({ name, obstacles }) => (obstacles.some(({ ofNode }) => ofNode === true) ? [name] : []))
  if (sick.length === 0 || !codes.every((one) => one.startsWith("node-"))) return [own]
  const behind = await Promise.all(sick.slice(0, MOST_NODES).map((name) => askThrough(ward, nodeRef(name))))
  const findings = behind.flatMap(({ findings }) => findings)
  return findings.length === 0 ? [own] : [...findings, { ...own, weight: "waiting" as const }]
}

/** What rules nodes out on purpose, the strongest first: the nodes that a pod is not meant for do not explain it. */
const RULED_OUT: readonly RegExp[] = [/^(?:node-selector|node-affinity|volume-elsewhere)$/, /^taint-not-tolerated$/]

/** Returns the nodes that the pod is meant for; all that are left where it is meant for none. */
const candidatesAmong = (perNode: readonly Refused[]): readonly Refused[] =>
  RULED_OUT.reduce((left, codes) => {
    const meant = left.filter(({ obstacles }) => !obstacles.some(({ code }) => codes.test(code)))
    return meant.length > 0 ? meant : left
  }, perNode)

const nodeRef = (name: string): ObjectRef => refTo(NODES, undefined, name)

const countOf = (nodes: readonly Refused[], code: string): number =>
  nodes.filter(({ obstacles }) => obstacles.some((one) => one.code === code)).length

async function mendsOf(
  pod: Pod,
  obstacle: Obstacle,
  nearest: readonly Refused[],
  ward: Ward,
): Promise<readonly Mend[]> {
  if (obstacle.mend !== undefined) return [obstacle.mend]
  const workload = await workloadOf(pod, ward)
  const mends: Mend[] = []
  if (obstacle.counts !== undefined) return spreadMends(pod, obstacle.counts, workload)
  if (obstacle.code === "node-selector") {
    const labels = Object.entries(pod.spec.nodeSelector ?? {})
    const nodes = await ward.reader.list(NODES)
    const node = nodes.find(({ metadata }) => metadata.name === nearest[0]!.name)
    const missing = labels.filter(([key, value]) => node?.metadata.labels?.[key] !== value)
    // What a node is does not change by its label, and a program of one processor does not run on another.
    if (missing.some(([key]) => isOfMachine(key))) return []
    if (workload.replaces) {
      const change = Object.fromEntries(missing.map(([key]) => [key, node?.metadata.labels?.[key] ?? null]))
      mends.push(
        mend(patchCommand(workload, { nodeSelector: change }), `lets the pods run on nodes such as ${obstacle.node}`),
      )
    }
    // Nor does a machine go elsewhere.
    if (missing.some(([key]) => isOfPlace(key))) return mends
    mends.push(
      mend(
        command`kubectl label node ${obstacle.node} --overwrite ${missing.map(([key, value]) => `${key}=${value}`)}`,
        `gives node ${obstacle.node} what the pod looks for`,
      ),
    )
  }
  const short = /^insufficient-(cpu|memory)$/.exec(obstacle.code)
  if (
    short !== null &&
    workload.replaces &&
    pod.spec.containers.length === 1 &&
    /, ([0-9.]+\w*) of /.test(obstacle.says)
  ) {
    const free = /, ([0-9.]+\w*) of /.exec(obstacle.says)![1]!
    if (free !== "0")
      mends.push(
        mend(
          command`kubectl set resources ${wordsOf(workload.ref)} --requests=${short[1]!}=${free}`,
          `asks for what node ${obstacle.node} has free; the container may need more`,
        ),
      )
  }
  return mends
}

/** A spread leaves out nodes whose taints the pod does not tolerate where its constraint says so. */
function spreadMends(
  { spec }: Pod,
  { constraint, uncordons, others }: NonNullable<Obstacle["counts"]>,
  workload: Workload,
): readonly Mend[] {
  const { topologyKey, whenUnsatisfiable } = constraint
  const isOnly = spec.topologySpreadConstraints?.filter((one) => one.topologyKey === topologyKey).length === 1
  if (!workload.replaces || !isOnly || constraint.nodeTaintsPolicy === "Honor") return [...uncordons, ...others]
  const change = { topologySpreadConstraints: [{ topologyKey, whenUnsatisfiable, nodeTaintsPolicy: "Honor" }] }
  const honor = mend(patchCommand(workload, change), "does not count nodes that the pods may not run on")
  return [...uncordons, honor, ...others]
}

/** Labels that say where a machine is, and which one it is. */
const isOfPlace = (key: string): boolean =>
  /^(?:topology\.kubernetes\.io|failure-domain\.beta\.kubernetes\.io)\/|^kubernetes\.io\/hostname$|instance-type$/.test(
    key,
  )

/** Labels that say what a machine is, and are set by its kubelet. */
const isOfMachine = (key: string): boolean => /^(?:beta\.)?kubernetes\.io\/(?:arch|os)$/.test(key)

async function hintsOf(pod: Pod, code: string, nodes: readonly string[], { reader }: Ward): Promise<readonly string[]> {
  switch (code) {
    case "taint-not-tolerated":
      return ["or give the pod a toleration of this taint"]
    case "node-uninitialized":
      return ["see whether the cloud controller manager runs: it removes the taint when it has found the machine"]
    case "node-selector":
      return Object.keys(pod.spec.nodeSelector ?? {}).some(isOfMachine)
        ? ["add a node of this kind; or, if the image is for several platforms, select another one"]
        : []
    case "volume-limit":
      return ["end pods with volumes there, add a node, or use fewer volumes"]
    case "insufficient-cpu":
    case "insufficient-memory": {
      const { cpu } = requestsOf(pod).exact
      const pods = (await reader.list(PODS)).filter(
        (one) => nodes.includes(one.spec.nodeName ?? "") && !isPodTerminal(one),
      )
      const priorities = (await reader.listIfAllowed(PRIORITY_CLASSES)) ?? []
      const own = pod.spec.priority ?? 0
      // Pods of the same priority or a higher one are not displaced.
      const least = smallest(pods.map(({ spec }) => spec.priority ?? 0))
      const higher = priorities.filter(
        ({ value, metadata }) => value > Math.max(own, least) && !metadata.name?.startsWith("system-"),
      )
      const isShy = pod.spec.preemptionPolicy === "Never" && least < own
      return [
        `request less than now${cpu > 0 && code === "insufficient-cpu" ? ` (${cores(cpu)})` : ""}, end other pods, or add a node`,
        ...(isShy ? ["its preemptionPolicy is Never, so it displaces no pod of a lower priority"] : []),
        ...(isShy ? [] : higher)
          .slice(0, 1)
          .map(({ metadata }) => `priority class ${metadata.name} would let it displace others`),
      ]
    }
    case "pod-anti-affinity":
    case "topology-spread":
      return ["add a node, or make the rule a preference"]
    case "host-port-taken":
      return ["use a Service instead of a host port, or another port"]
    case "too-many-pods":
      return ["end pods there, add a node, or raise the kubelet's maxPods"]
    default:
      return []
  }
}
