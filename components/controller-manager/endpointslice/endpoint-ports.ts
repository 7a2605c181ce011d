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

const isNamed = ({ targetPort }: ServicePort): boolean => typeof targetPort === "string" && targetPort !== ""
const nameOf = (protocol: string, name: string | number): string => `${protocol}/${name}`

/** Returns the numbers on a pod of those named ports that are wanted, by name: the first port of a name counts. */
function numbersOn({ spec }: Pod, wanted: ReadonlySet<string>): ReadonlyMap<string, number> {
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always")
  const numbers = new Map<string, number>()
  for (const { ports = [] } of [...spec.containers, ...sidecars])
    for (const { name = "", protocol = "TCP", containerPort } of ports) {
      const key = nameOf(protocol, name)
      if (wanted.has(key) && !numbers.has(key)) numbers.set(key, containerPort)
    }
  return numbers
}

/**
 * Returns a function that gives the Service's ports with their numbers on a pod, without those that the pod does not
 * serve. Pods with the same numbers get the same list, and a pod costs as much as it has ports, not as the Service has:
 * there may be thousands of pods and of ports.
 */
export function portResolver({ spec: { ports = [] } }: Service): (pod: Pod) => readonly ResolvedPort[] {
  const wanted = new Set(ports.filter(isNamed).map(({ targetPort = "", protocol }) => nameOf(protocol, targetPort)))
  const lists = new Map<string, readonly ResolvedPort[]>()
  return (pod) => {
    const numbers = numbersOn(pod, wanted)
    const key = [...numbers]
      .map(([name, number]) => `${name}=${number}`)
      .toSorted()
      .join()
    let list = lists.get(key)
    if (list === undefined) lists.set(key, (list = withNumbers(ports, numbers)))
    return list
  }
}

const withNumbers = (ports: readonly ServicePort[], numbers: ReadonlyMap<string, number>): readonly ResolvedPort[] =>
  ports.flatMap((each) => {
    const { name = "", protocol, port, targetPort, appProtocol } = each
    const number = isNamed(each) ? numbers.get(nameOf(protocol, targetPort!)) : targetPort || port
    return number === undefined || number === 0 ? [] : [{ name, protocol, port: Number(number), appProtocol }]
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
