import type { Pod } from "../api/core/v1/pod/pod.ts"
import type { PodDisruptionBudget } from "../api/policy/v1/poddisruptionbudget.ts"
import { humanDuration, parseTime } from "../apimachinery/scalars/time.ts"
import { ignoresBudgets, mayGoUnready } from "../pods/eviction-rules.ts"
import { isPodReady } from "../pods/pod-state.ts"
import { finding, mend, type Finding } from "./answer.ts"
import { controllerOf, doctor, healthy, unwell, type Ward } from "./doctor.ts"
import { recentEvents } from "./events.ts"
import { blockFindings, selectedBy } from "./policy/budget.ts"
import { BUDGETS, NODES, PODS, refOf } from "./reading/kinds.ts"
import { pushAll } from "../lists/push-all.ts"
import { command } from "./command.ts"
import { USUAL_MS, within } from "./under-way.ts"

/** Conditions of nodes that are well when they are False. */
const PRESSURES: Readonly<Record<string, string>> = {
  MemoryPressure: "memory",
  DiskPressure: "disk space",
  PIDPressure: "process ids",
}

/** Conditions that node-problem-detector and others set when something is wrong with a machine. */
const PROBLEM =
  /Deadlock|Readonly(?:Filesystem)?|Corrupt|^Frequent|Problem|Unhealthy|Failure|Failing|Error|Degraded|Broken/i

export const nodeDoctor = doctor(NODES, async (node, ward) => {
  const { reader } = ward
  const { metadata, spec, status } = node
  const name = metadata.name ?? ""
  const conditions = status.conditions ?? []
  const ready = conditions.find(({ type }) => type === "Ready")
  const events = await recentEvents(reader, node, ["Warning"])
  const findings: Finding[] = []
  const since = parseTime(ready?.lastTransitionTime ?? "")
  const age = since === undefined ? "" : ` for ${humanDuration(reader.now - since)}`
  // A node that has just joined sets up its network first.
  const isNew = (one: Finding) => within(one, reader.now, parseTime(metadata.creationTimestamp ?? ""), USUAL_MS)
  if (ready === undefined)
    findings.push(
      isNew(finding("node-not-ready", `the kubelet of node ${name} has never reported`, { evidence: events })),
    )
  else if (ready.status === "Unknown")
    findings.push(
      finding(
        "node-not-ready",
        `the kubelet of node ${name} has not reported${age}: the machine is off, the kubelet does not run, or the network between them is broken`,
        {
          evidence: [
            `Ready is Unknown: ${ready.message ?? ready.reason ?? ""}`,
            ...heartbeat(ready.lastHeartbeatTime, reader.now),
          ],
          hints: ["see whether the machine runs, and on it the log of its agent"],
        },
      ),
    )
  else if (ready.status === "False")
    findings.push(
      isNew(
        finding(
          "node-not-ready",
          `the kubelet of node ${name} says${age} that it is not ready: ${ready.message ?? ready.reason ?? ""}`,
          { evidence: events },
        ),
      ),
    )
  for (const { type, status: is, message = "" } of conditions) {
    if (is !== "True") continue
    if (PRESSURES[type] !== undefined)
      findings.push(
        finding(
          "node-pressure",
          `node ${name} runs out of ${PRESSURES[type]}${message === "" ? "" : `: ${message}`}; pods are evicted and none are taken`,
          {
            evidence: events,
          },
        ),
      )
    else if (PROBLEM.test(type))
      findings.push(
        finding("node-problem", `node ${name} has ${type}${message === "" ? "" : `: ${message.trim()}`}`, {
          evidence: events,
          hints: ["so says what watches the node; repair or replace the machine"],
        }),
      )
    if (type === "NetworkUnavailable")
      findings.push(
        finding("node-network-unavailable", `the network of node ${name} is not set up: ${message}`, {
          evidence: events,
        }),
      )
  }
  if (spec.unschedulable === true) pushAll(findings, await drainFindings(name, ward))
  if (spec.unschedulable === true)
    findings.push(
      finding("node-cordoned", `node ${name} is cordoned: pods that run there stay, and no others come`, {
        mends: [mend(command`kubectl uncordon ${name}`, `lets the scheduler use node ${name} again`)],
      }),
    )
  const states = conditions.filter(({ status: is }) => is === "True").map(({ type }) => type)
  const short = states.map((type) => PRESSURES[type]).find((one) => one !== undefined)
  const summary = `${states.includes("Ready") ? "is ready" : "is not ready"}${spec.unschedulable === true ? ", cordoned" : ""}${short === undefined ? "" : `, short of ${short}`}`
  return findings.length === 0 ? healthy(summary) : unwell(summary, findings)
})

/** Returns which disruption budgets keep the pods of a cordoned node there: a drain waits for them. */
async function drainFindings(name: string, ward: Ward): Promise<readonly Finding[]> {
  const budgets = (await ward.reader.listIfAllowed(BUDGETS)) ?? []
  if (budgets.length === 0) return []
  const blocking = budgets.filter(({ status }) => (status.disruptionsAllowed ?? 0) === 0)
  const pods = await ward.reader.list(PODS)
  const here = pods.filter((pod) => pod.spec.nodeName === name && controllerOf(pod)?.kind !== "DaemonSet")
  const findings: Finding[] = [...severalBudgets(here, budgets)]
  for (const budget of blocking) {
    const held = selectedBy(budget, here).filter(
      (pod) => !ignoresBudgets(pod) && (isPodReady(pod) || !mayGoUnready(budget)),
    )
    if (held.length === 0) continue
    const names = held.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).slice(0, 3)
    for (const one of await blockFindings(budget, selectedBy(budget, pods), ward))
      findings.push({
        ...one,
        cause: {
          ...one.cause,
          code: "drain-blocked",
          message: `a drain cannot evict ${names.join(", ")}: ${one.cause.message}`,
        },
        chain: [{ object: refOf(budget), says: "allows no disruption" }, ...one.chain],
      })
  }
  return findings
}

/** Pods that several budgets select are never evicted. Source: registry/core/pod/storage/eviction.go. */
function severalBudgets(pods: readonly Pod[], budgets: readonly PodDisruptionBudget[]): readonly Finding[] {
  for (const pod of pods) {
    if (ignoresBudgets(pod)) continue
    const own = budgets.filter((budget) => selectedBy(budget, [pod]).length > 0)
    if (own.length < 2) continue
    const names = own.map(({ metadata }) => metadata.name ?? "")
    return [
      finding(
        "drain-blocked",
        `a drain cannot evict ${pod.metadata.namespace}/${pod.metadata.name}: PodDisruptionBudgets ${names.join(" and ")} select it, and a pod with more than one is not evicted`,
        { hints: ["delete all but one of them, or change their selectors so that they share no pod"] },
      ),
    ]
  }
  return []
}

function heartbeat(time: string | null | undefined, now: number): readonly string[] {
  const at = parseTime(time ?? "")
  return at === undefined ? [] : [`last report ${humanDuration(now - at)} ago`]
}
