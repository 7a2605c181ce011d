import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { humanDuration, parseTime } from "../../apimachinery/scalars/time.ts"
import { podCondition } from "../../pods/pod-state.ts"
import { finding, type Finding, type Opinion } from "../answer.ts"
import { askThrough, doctor, healthy, unwell, type Ward } from "../doctor.ts"
import { NODES, PODS, refOf, refTo } from "../reading/kinds.ts"
import { containerFindings } from "./containers.ts"
import { endedFinding } from "./ended.ts"
import { logClues } from "./log-clues.ts"
import { placementFindings } from "./placement/placement.ts"
import { referenceFindings } from "./references.ts"
import { outlastingFinding } from "./outlasting.ts"
import { resizeFindings } from "./resize.ts"
import { sandboxFindings } from "./sandbox.ts"
import { claimsOf } from "./claims.ts"
import { pushAll } from "../../lists/push-all.ts"
import { command } from "../command.ts"
import { progressMs, underWay, USUAL_MS, within } from "../under-way.ts"
import { eventLine, eventsOf, seenAt } from "../events.ts"
import { workloadOf } from "../workload.ts"

export const podDoctor = doctor(PODS, async (pod, ward) => {
  const { status } = pod
  if (pod.metadata.deletionTimestamp !== undefined) return terminating(pod, ward)
  if (status.phase === "Succeeded") return healthy("has ended with success")
  if (status.phase === "Failed") return unwell("has failed", await endedFinding(pod, ward))
  if (!pod.spec.nodeName) {
    const claims = await claimsOf(pod, ward)
    const findings = claims.findings.length > 0 ? claims.findings : await placementFindings(pod, claims, ward)
    return unwell(
      "is not scheduled",
      findings.map((one) => withVerdict(one, pod)),
    )
  }
  const ready = podCondition(pod, "Ready")?.status === "True"
  const all = [...(await runningFindings(pod, ward)), ...resizeFindings(pod)]
  const counted = status.containerStatuses ?? []
  const count = `${counted.filter((one) => one.ready).length} of ${pod.spec.containers.length} containers ready`
  if (ready && all.every(({ weight }) => weight === "note")) return healthy(`runs, ${count}`, all)
  const goesOn = all.length === 0 ? outlastingFinding(pod, ward) : undefined
  if (goesOn !== undefined) return unwell(`runs on ${pod.spec.nodeName}, ${count}`, [goesOn])
  return all.length > 0
    ? unwell(`${status.phase === "Running" ? "runs" : "waits"} on ${pod.spec.nodeName}, ${count}`, all)
    : unwell(`waits on ${pod.spec.nodeName}, ${count}`, [await starting(pod, ward)])
})

/** Adds what the scheduler says to what shows a cause. */
function withVerdict(one: Finding, pod: Pod): Finding {
  const { message } = podCondition(pod, "PodScheduled") ?? {}
  const line = `scheduler: ${message}`
  const { evidence } = one.cause
  if (message === undefined || evidence.includes(line)) return one
  return { ...one, cause: { ...one.cause, evidence: [...evidence, line] } }
}

/** Returns what is wrong with a pod that has a node, the nearest cause first. */
async function runningFindings(pod: Pod, ward: Ward): Promise<readonly Finding[]> {
  const node = await nodeFindings(pod, ward)
  if (node.some(({ weight }) => weight === "broken")) return node
  const statuses = new Map(
    [...(pod.status.initContainerStatuses ?? []), ...(pod.status.containerStatuses ?? [])].map((one) => [
      one.name,
      one,
    ]),
  )
  const init: Finding[] = []
  let isHeld = false
  for (const container of pod.spec.initContainers ?? []) {
    const status = statuses.get(container.name)
    const isSidecar = container.restartPolicy === "Always"
    if (status === undefined || (!isSidecar && status.state?.terminated?.exitCode === 0)) continue
    const running = status.state?.running
    const isFirstRun = !isSidecar && running !== undefined && (status.restartCount ?? 0) === 0
    const found = isFirstRun
      ? await initFindings(pod, container.name, running.startedAt ?? undefined, ward)
      : await containerFindings(pod, container, status, ward)
    pushAll(
      init,
      found.map((one) => named(one, isSidecar ? "sidecar" : "init container", container.name)),
    )
    // Those after it have not begun, and wait for it.
    const holds = !isSidecar || status.started !== true
    if (holds && found.some(({ weight }) => weight !== "note")) isHeld = true
    if (isHeld) break
  }
  const findings = [...init]
  if (!isHeld)
    for (const container of pod.spec.containers) {
      const status = statuses.get(container.name)
      if (status !== undefined) pushAll(findings, await containerFindings(pod, container, status, ward))
    }
  const isConfigured = findings.some(({ cause }) => cause.code === "config-error")
  const hasBegun = findings.some(({ weight }) => weight === "broken") && !isConfigured
  if (hasBegun || podCondition(pod, "Ready")?.status === "True") return findings
  // Nothing of the containers explains it: what is mounted before they start, and what they refer to.
  const needs = isConfigured || statusless(pod) ? await needFindings(pod, ward) : []
  if (needs.length > 0) return [...needs, ...findings.filter(({ cause }) => cause.code !== "config-error")]
  const before = statusless(pod) ? await sandboxFindings(pod, ward) : []
  return [...before, ...findings, ...gates(pod, ward)]
}

/** Returns what a pod refers to and does not get. What is deleted after the containers have started does not stop them. */
const needFindings = async (pod: Pod, ward: Ward): Promise<readonly Finding[]> => [
  ...(await referenceFindings(pod, ward)),
  ...(await claimsOf(pod, ward)).findings,
]

/** Whether no container has been started: volumes and sandbox come first. */
const statusless = ({ status }: Pod): boolean =>
  [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].every(
    ({ state }) => state?.running === undefined && state?.terminated === undefined,
  )

const named = (one: Finding, what: string, name: string): Finding => ({
  ...one,
  cause: {
    ...one.cause,
    message: one.cause.message.replace(`container ${name}`, `${what} ${name}`).replace("init init", "init"),
    evidence: [`${what} ${name} comes before the containers of the pod`, ...one.cause.evidence],
  },
})

/** Returns what an init container that runs waits for: what its log says, or only that it runs. */
async function initFindings(pod: Pod, name: string, startedAt: string | undefined, ward: Ward) {
  const clues = await logClues(pod, name, await ward.reader.log(refOf(pod), name), ward)
  return [...clues, initRuns(name, startedAt, ward)]
}

function initRuns(name: string, startedAt: string | undefined, { reader }: Ward): Finding {
  const since = parseTime(startedAt ?? "")
  const age = since === undefined ? "" : ` for ${humanDuration(reader.now - since)}`
  const runs = finding(
    "init-container-runs",
    `init container ${name} runs${age}, and the containers start when it has ended`,
    {
      weight: "waiting",
      hints: ["see what it waits for: kubectl logs with -c " + name],
    },
  )
  return within(runs, reader.now, since, USUAL_MS)
}

function gates(pod: Pod, { reader }: Ward): readonly Finding[] {
  const since = parseTime(podCondition(pod, "ContainersReady")?.lastTransitionTime ?? "")
  return (pod.spec.readinessGates ?? [])
    .filter(({ conditionType }) => podCondition(pod, conditionType)?.status !== "True")
    .map(({ conditionType }) =>
      within(
        finding(
          "readiness-gate",
          `its readiness gate ${conditionType} is ${podCondition(pod, conditionType)?.status ?? "not set"}: the controller that sets this condition has not`,
        ),
        reader.now,
        since,
        USUAL_MS,
      ),
    )
}

async function nodeFindings(pod: Pod, ward: Ward): Promise<readonly Finding[]> {
  const ref = refTo(NODES, undefined, pod.spec.nodeName!)
  const opinion = await askThrough(ward, ref)
  // What else a node has, such as a cordon, does not stop pods that are there.
  return opinion.findings.filter(({ cause }) => ["node-missing", "node-not-ready"].includes(cause.code))
}

async function terminating(pod: Pod, ward: Ward): Promise<Opinion> {
  const deadline = parseTime(pod.metadata.deletionTimestamp ?? "") ?? ward.reader.now
  const late = ward.reader.now - deadline
  const grace = pod.metadata.deletionGracePeriodSeconds ?? 0
  if (!pod.spec.nodeName || late <= 0)
    return unwell("is being deleted", [
      underWay(
        finding(
          "terminating",
          `it has been deleted, and its containers have until ${pod.metadata.deletionTimestamp} to end (${grace} s of grace)`,
          { weight: "waiting" },
        ),
        ward.reader.now,
        deadline - grace * 1000,
        deadline,
      ),
    ])
  const node = await nodeFindings(pod, ward)
  const force = command`kubectl delete pod ${refOf(pod).name} -n ${pod.metadata.namespace ?? ""} --force --grace-period=0`
  if (node.length > 0)
    return unwell(
      "is being deleted",
      node.map((one) => ({
        ...one,
        hints: [...one.hints, `if the node never comes back: ${force} (what ran there may still run)`],
      })),
    )
  return unwell("is being deleted", [
    finding(
      "termination-late",
      `it should have ended ${humanDuration(late)} ago, and the kubelet of ${pod.spec.nodeName} has not said that it has`,
      { weight: late > 60_000 ? "broken" : "waiting", hints: [`if nothing runs there any more: ${force}`] },
    ),
  ])
}

async function starting(pod: Pod, ward: Ward): Promise<Finding> {
  const { reader } = ward
  const since = parseTime(pod.status.startTime ?? pod.metadata.creationTimestamp ?? "")
  const age = since === undefined ? 0 : reader.now - since
  const waits = (pod.status.containerStatuses ?? []).flatMap(({ name, state }) =>
    state?.waiting?.reason === undefined ? [] : [`container ${name}: ${state.waiting.reason}`],
  )
  const one = finding("starting", `it has been starting for ${humanDuration(age)} on node ${pod.spec.nodeName ?? ""}`, {
    evidence: [...waits, ...(await pulling(pod, ward))],
    weight: "waiting",
  })
  return within(one, reader.now, since, await progressMs((await workloadOf(pod, ward)).ref, ward))
}

/** Returns the Event of an image that is being pulled. */
async function pulling(pod: Pod, { reader }: Ward): Promise<readonly string[]> {
  const [last] = (await eventsOf(reader, pod)).filter(({ reason }) => reason === "Pulling" || reason === "Pulled")
  return last?.reason === "Pulling"
    ? [`${eventLine(last)}, for ${humanDuration(Math.max(0, reader.now - seenAt(last)))}`]
    : []
}
