import { humanDuration, parseTime } from "../apimachinery/scalars/time.ts"
import { finding, mend, type Finding } from "./answer.ts"
import { doctor, healthy, unwell } from "./doctor.ts"
import { recentEvents } from "./events.ts"
import { NODES } from "./reading/kinds.ts"

/** Conditions of nodes that are well when they are False. */
const PRESSURES: Readonly<Record<string, string>> = {
  MemoryPressure: "memory",
  DiskPressure: "disk space",
  PIDPressure: "process ids",
}

export const nodeDoctor = doctor(NODES, async (node, { reader }) => {
  const { metadata, spec, status } = node
  const name = metadata.name ?? ""
  const conditions = status.conditions ?? []
  const ready = conditions.find(({ type }) => type === "Ready")
  const events = await recentEvents(reader, node, ["Warning"])
  const findings: Finding[] = []
  const since = parseTime(ready?.lastTransitionTime ?? "")
  const age = since === undefined ? "" : ` for ${humanDuration(reader.now - since)}`
  if (ready === undefined)
    findings.push(finding("node-not-ready", `the kubelet of node ${name} has never reported`, { evidence: events }))
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
      finding(
        "node-not-ready",
        `the kubelet of node ${name} says${age} that it is not ready: ${ready.message ?? ready.reason ?? ""}`,
        {
          evidence: events,
        },
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
    if (type === "NetworkUnavailable")
      findings.push(
        finding("node-network-unavailable", `the network of node ${name} is not set up: ${message}`, {
          evidence: events,
        }),
      )
  }
  if (spec.unschedulable === true)
    findings.push(
      finding("node-cordoned", `node ${name} is cordoned: pods that run there stay, and no others come`, {
        mends: [mend(`kubectl uncordon ${name}`, `lets the scheduler use node ${name} again`)],
      }),
    )
  const states = conditions.filter(({ status: is }) => is === "True").map(({ type }) => type)
  const summary = `${states.includes("Ready") ? "is ready" : "is not ready"}${spec.unschedulable === true ? ", cordoned" : ""}`
  return findings.length === 0 ? healthy(summary) : unwell(summary, findings)
})

function heartbeat(time: string | null | undefined, now: number): readonly string[] {
  const at = parseTime(time ?? "")
  return at === undefined ? [] : [`last report ${humanDuration(now - at)} ago`]
}
