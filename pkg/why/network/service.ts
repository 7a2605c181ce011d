import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { Service } from "../../api/core/v1/service/service.ts"
import { isPodReady } from "../../pods/pod-state.ts"
import { finding, type Finding, type Opinion } from "../answer.ts"
import { askThrough, doctor, healthy, isSame, unwell, type Ward } from "../doctor.ts"
import { recentEvents } from "../events.ts"
import { POLICIES, SERVICES, SLICES } from "../reading/kinds.ts"
import { workloadOf } from "../workload.ts"
import { podFindings } from "../workloads/pods.ts"
import { closedFinding } from "./closed.ts"
import { externalNameOpinion } from "./external-name.ts"
import { externalTrafficNotes } from "./external-traffic.ts"
import { portNameFinding } from "./port-name.ts"
import { selectorFinding } from "./selector.ts"
import { podsOf } from "./service-pods.ts"
import { command } from "../command.ts"
import { changedAt, USUAL_MS, within } from "../under-way.ts"

export const serviceDoctor = doctor(SERVICES, async (service, ward) => {
  const { spec } = service
  if (spec.type === "ExternalName") return externalNameOpinion(service, ward)
  const balanced = spec.type === "LoadBalancer" ? await balancerFindings(service, ward) : []
  if (spec.selector === undefined || Object.keys(spec.selector).length === 0)
    return withoutSelector(service, balanced, ward)
  const { pods } = await podsOf(service, ward)
  const ready = pods.filter(isPodReady)
  const summary = pods.length === 0 ? "selects no pods" : `${ready.length} of ${pods.length} endpoints are ready`
  if (pods.length === 0) return unwell(summary, [...(await selectorFinding(service, ward)), ...balanced])
  const named = portNameFinding(service, pods)
  if (named !== undefined) return unwell(summary, [named, ...balanced])
  if (ready.length === 0 && spec.publishNotReadyAddresses !== true)
    return unwell(summary, [...(await ownerFindings(pods, ward)), ...balanced])
  const closed = await policyFinding(pods, ward)
  const unserved = closed ?? (await closedFinding(service, ready, ward))
  const findings = [...(unserved === undefined ? [] : [unserved]), ...balanced]
  const others = ready.length < pods.length ? await podFindings(pods, ward) : []
  // Some endpoints answer, so the Service is well; what the others have is worth knowing.
  const notes = [
    ...others.map((one): Finding => ({ ...one, weight: "note" })),
    ...(await externalTrafficNotes(service, ready, ward)),
  ]
  return findings.length === 0 ? healthy(summary, notes) : unwell(summary, [...findings, ...notes])
})

/** Pods that are not ready are explained by their workload, which sees all of them. */
async function ownerFindings(pods: readonly Pod[], ward: Ward): Promise<readonly Finding[]> {
  const owners = await Promise.all(pods.map(async (pod) => (await workloadOf(pod, ward)).ref))
  const [owner] = owners
  const isOne = owner !== undefined && owner.kind !== "Pod" && owners.every((one) => isSame(one, owner))
  const found = isOne ? (await askThrough(ward, owner)).findings : []
  return found.length > 0 ? found : podFindings(pods, ward)
}

/** A NetworkPolicy that lets nobody at all to any of the pods. Rules that let some in are meant. */
async function policyFinding(pods: readonly Pod[], ward: Ward): Promise<Finding | undefined> {
  const policies = await ward.reader.listIfAllowed(POLICIES, pods[0]?.metadata.namespace)
  if (policies === undefined) return undefined
  const { closingPolicy } = await import("./policies.ts")
  const closing = pods.map((pod) => closingPolicy(pod, policies))
  const [first] = closing
  if (first === undefined || closing.some((one) => one === undefined)) return undefined
  const { name = "", namespace = "" } = first.metadata
  return finding(
    "network-policy",
    `every connection to it is refused: NetworkPolicy ${namespace}/${name} selects its pods and has no ingress rule, ` +
      "and no other policy lets anybody in",
    {
      hints: [
        `${command`kubectl describe networkpolicy ${name} -n ${namespace}`}; add a rule for those who may connect`,
      ],
    },
  )
}

async function withoutSelector(service: Service, balanced: readonly Finding[], ward: Ward): Promise<Opinion> {
  const slices = (await ward.reader.list(SLICES, service.metadata.namespace)).filter(
    ({ metadata }) => metadata.labels?.["kubernetes.io/service-name"] === service.metadata.name,
  )
  const endpoints = slices.flatMap(({ endpoints: own }) => own ?? [])
  const ready = endpoints.filter(({ conditions }) => conditions?.ready !== false)
  const isWhole = ready.length === endpoints.length
  const summary = `has ${isWhole ? "" : `${ready.length} ready of `}${endpoints.length} endpoints`
  if (endpoints.length > 0 && ready.length === 0)
    return unwell(summary, [
      finding(
        "endpoints-not-ready",
        `none of its endpoints is ready: so says who writes EndpointSlice ${slices[0]?.metadata.name ?? ""}`,
        { hints: ["it has no selector: whoever writes its EndpointSlices sets conditions.ready"] },
      ),
      ...balanced,
    ])
  if (endpoints.length > 0) return balanced.length > 0 ? unwell(summary, balanced) : healthy(summary)
  return unwell("has no endpoints", [
    finding(
      "service-without-selector",
      "it has no selector, and nobody has written EndpointSlices for it, so it leads nowhere",
      {
        hints: [
          `give it a selector: ${command`kubectl set selector service ${service.metadata.name ?? ""} KEY=VALUE`}`,
        ],
      },
    ),
    ...balanced,
  ])
}

async function balancerFindings(service: Service, ward: Ward): Promise<readonly Finding[]> {
  if ((service.status.loadBalancer?.ingress ?? []).length > 0) return []
  const events = await recentEvents(ward.reader, service, ["Warning"])
  const conflict = events.find((line) => /PortConflict/.test(line))
  if (conflict !== undefined) {
    const [, port = "", holder = ""] = /Port (\S+) of the nodes is taken by (.*)$/.exec(conflict) ?? []
    return [
      finding("load-balancer-port-taken", `it gets no address: port ${port} of the nodes is taken by ${holder}`, {
        evidence: events,
        hints: ["use another port, or remove what has this one"],
      }),
    ]
  }
  const { loadBalancerClass: of } = service.spec
  const soon = (one: Finding) => within(one, ward.reader.now, changedAt(service), USUAL_MS)
  if (of !== undefined)
    return [
      soon(
        finding(
          "load-balancer-pending",
          `it has no address: the controller of class ${of} has not given it one; perhaps it does not run`,
          { evidence: events, sure: false },
        ),
      ),
    ]
  const pending = finding(
    "load-balancer-pending",
    "it has no address yet" +
      (service.spec.externalTrafficPolicy === "Local"
        ? "; with externalTrafficPolicy Local only nodes with a ready endpoint serve it"
        : "; perhaps no load balancer runs in this cluster"),
    { evidence: events, sure: false, weight: "waiting" },
  )
  return [soon(pending)]
}
