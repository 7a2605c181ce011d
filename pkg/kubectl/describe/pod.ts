import { ageOf } from "../../apimachinery/scalars/time.ts"
import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { describeContainers, describeSeccompProfile } from "./containers.ts"
import type { Describer, Describing } from "./describing.ts"
import { describeEvents, involved, searchEvents } from "./events.ts"
import { controllerOf, describeAnnotations, describeLabels } from "./metadata.ts"
import { description, type PrefixWriter } from "./prefix-writer.ts"
import { describeResources } from "./resources.ts"
import { describeSchedulingGroup, describeSpread, describeTolerations } from "./scheduling.ts"
import { longTime } from "./times.ts"
import { describeVolumes } from "./volumes.ts"

export const PODS = { group: "", version: "v1", resource: "pods" }
/** On a mirror pod: the UID that the node's events about the static pod have. */
const MIRROR = "kubernetes.io/config.mirror"

/** Source: PodDescriber. */
export const describePod: Describer = async (describing, namespace, name) => {
  const pod = await describing.client.get<Pod>(PODS, namespace, name)
  const uid = pod.metadata.annotations?.[MIRROR] ?? pod.metadata.uid ?? ""
  const events = describing.showEvents ? await searchEvents(describing, { ...involved(pod), kind: "", uid }) : undefined
  return description((w) => {
    describeHead(w, pod, describing)
    describeAddresses(w, pod)
    describeAllContainers(w, pod, describing)
    describeConditions(w, pod)
    describeVolumes(w, pod.spec.volumes, "", describing)
    w.row(0, "QoS Class:", pod.status.qosClass ?? "")
    describeLabels(w, "Node-Selectors", pod.spec.nodeSelector)
    describeTolerations(w, "Tolerations", pod.spec.tolerations)
    describeSpread(w, "", pod.spec.topologySpreadConstraints)
    describeSchedulingGroup(w, "", pod.spec)
    describeEvents(w, events, describing.now())
  })
}

function describeHead(w: PrefixWriter, { metadata, spec, status }: Pod, { zone, now }: Describing): void {
  w.row(0, "Name:", metadata.name ?? "")
  w.row(0, "Namespace:", metadata.namespace ?? "")
  if (spec.priority !== undefined) w.row(0, "Priority:", spec.priority)
  if (spec.priorityClassName) w.row(0, "Priority Class Name:", spec.priorityClassName)
  if (spec.runtimeClassName) w.row(0, "Runtime Class Name:", spec.runtimeClassName)
  if (spec.serviceAccountName) w.row(0, "Service Account:", spec.serviceAccountName)
  w.row(0, "Node:", spec.nodeName ? `${spec.nodeName}/${status.hostIP ?? ""}` : "<none>")
  if (status.startTime) w.row(0, "Start Time:", longTime(status.startTime, zone))
  describeLabels(w, "Labels", metadata.labels)
  describeAnnotations(w, "Annotations", metadata.annotations)
  const phase: string = status.phase ?? ""
  if (metadata.deletionTimestamp && phase !== "Failed" && phase !== "Succeeded") {
    w.row(0, "Status:", `Terminating (lasts ${ageOf(metadata.deletionTimestamp, now())})`)
    w.row(0, "Termination Grace Period:", `${metadata.deletionGracePeriodSeconds ?? 0}s`)
  } else w.row(0, "Status:", phase)
  if (status.reason) w.row(0, "Reason:", status.reason)
  if (status.message) w.row(0, "Message:", status.message)
  const profile = spec.securityContext?.seccompProfile
  if (profile) describeSeccompProfile(w, 0, profile)
}

function describeAddresses(w: PrefixWriter, { metadata, status }: Pod): void {
  const { podIP = "", podIPs = [], nominatedNodeName } = status
  w.row(0, "IP:", podIP)
  if (podIPs.length === 0) w.row(0, "IPs:", "<none>")
  else w.row(0, "IPs:")
  for (const { ip } of podIPs) w.row(1, "IP:", ip)
  const controller = controllerOf(metadata)
  if (controller !== undefined) w.row(0, "Controlled By:", controller)
  if (nominatedNodeName) w.row(0, "NominatedNodeName:", nominatedNodeName)
}

function describeAllContainers(w: PrefixWriter, { metadata, spec, status }: Pod, { zone }: Describing): void {
  if (spec.resources) {
    w.row(0, "Resources:")
    describeResources(w, 1, spec.resources)
  }
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec
  if (initContainers.length > 0)
    describeContainers(w, {
      title: "Init Containers",
      containers: initContainers,
      statuses: status.initContainerStatuses,
      metadata,
      zone,
    })
  describeContainers(w, { title: "Containers", containers, statuses: status.containerStatuses, metadata, zone })
  if (ephemeralContainers.length > 0)
    describeContainers(w, {
      title: "Ephemeral Containers",
      containers: ephemeralContainers,
      statuses: status.ephemeralContainerStatuses,
      metadata,
      zone,
    })
}

function describeConditions(w: PrefixWriter, { spec, status }: Pod): void {
  const { conditions = [] } = status
  const { readinessGates = [] } = spec
  if (readinessGates.length > 0) w.write(0, "Readiness Gates:\n  Type\tStatus\n")
  for (const { conditionType } of readinessGates) {
    const condition = conditions.find(({ type }) => type === conditionType)
    w.row(1, `${conditionType} `, `${condition?.status ?? "<none>"} `)
  }
  if (conditions.length > 0) w.write(0, "Conditions:\n  Type\tStatus\n")
  for (const condition of conditions) w.row(1, `${condition.type} `, `${condition.status} `)
}
