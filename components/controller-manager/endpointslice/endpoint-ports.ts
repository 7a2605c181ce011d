import { familyOf } from "../../../pkg/apimachinery/addresses/cidr.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { isPodReady, isPodTerminal } from "../../../pkg/pods/pod-state.ts"
import type { Service } from "../../../pkg/api/core/v1/service/service.ts"
import type { ServicePort } from "../../../pkg/api/core/v1/service/servicespec.ts"

/**
 * What the endpoints and the endpointslice controllers read of pods and Services. Source:
 * k8s.io/endpointslice/util/controller_utils.go.
 */

export interface ResolvedPort {
  readonly name: string
  readonly protocol: "TCP" | "UDP" | "SCTP"
  readonly port: number
  readonly appProtocol: string | undefined
}

/** Returns the number of a Service's target port on this pod; undefined when the pod has no port of that name. */
function targetPortOf(pod: Pod, { targetPort, port, protocol }: ServicePort): number | undefined {
  if (targetPort === undefined || targetPort === 0 || targetPort === "") return port
  if (typeof targetPort === "number") return targetPort
  const sidecars = (pod.spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always")
  for (const container of [...pod.spec.containers, ...sidecars]) {
    const named = container.ports?.find((each) => each.name === targetPort && each.protocol === protocol)
    if (named !== undefined) return named.containerPort
  }
  return undefined
}

/** Returns the Service's ports with their numbers on this pod, without those that the pod does not serve. */
export const portsOn = (pod: Pod, service: Service): readonly ResolvedPort[] =>
  (service.spec.ports ?? []).flatMap((port) => {
    const number = targetPortOf(pod, port)
    return number === undefined
      ? []
      : [{ name: port.name ?? "", protocol: port.protocol, port: number, appProtocol: port.appProtocol }]
  })

export interface Readiness {
  readonly ready: boolean
  readonly serving: boolean
  readonly terminating: boolean
}

export function readinessOf(pod: Pod, service: Service): Readiness {
  const serving = isPodReady(pod)
  const terminating = pod.metadata.deletionTimestamp !== undefined
  return { serving, terminating, ready: service.spec.publishNotReadyAddresses === true || (serving && !terminating) }
}

/** Whether the pod may be an endpoint; a terminating pod may if the caller can mark it as terminating. */
export const canBeEndpoint = (pod: Pod, withTerminating: boolean): boolean =>
  !isPodTerminal(pod) &&
  (pod.status.podIP ?? "") !== "" &&
  (withTerminating || pod.metadata.deletionTimestamp === undefined)

/** Returns the pod's address of the family; undefined when it has none. */
export const addressOf = ({ status: { podIP = "", podIPs } }: Pod, family: string): string | undefined =>
  (podIPs ?? [{ ip: podIP }]).map(({ ip = "" }) => ip).find((ip) => ip !== "" && familyOf(ip) === family)

/** The DNS name of the pod under a headless Service, if it has one. */
export const hostnameOf = (pod: Pod, service: Service): string | undefined =>
  pod.spec.hostname && pod.spec.subdomain === service.metadata.name ? pod.spec.hostname : undefined

export const isHeadless = (service: Service): boolean => service.spec.clusterIP === "None"
export const HEADLESS_LABEL = "service.kubernetes.io/headless"
export const TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time"

/** Whether anything of the pod that endpoints show has changed. */
export const endpointChanged = (pod: Pod, old: Pod): boolean =>
  pod.status.podIP !== old.status.podIP ||
  pod.status.podIPs !== old.status.podIPs ||
  isPodReady(pod) !== isPodReady(old) ||
  isPodTerminal(pod) !== isPodTerminal(old) ||
  pod.metadata.deletionTimestamp !== old.metadata.deletionTimestamp ||
  pod.metadata.labels !== old.metadata.labels ||
  pod.spec.nodeName !== old.spec.nodeName
