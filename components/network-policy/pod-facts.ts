import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { parseAddress } from "../../pkg/apimachinery/addresses/cidr.ts"
import type { Labels } from "../../pkg/apimachinery/selectors/labels.ts"
import { keyFrom } from "../../pkg/client/informer.ts"
import { isPodTerminal } from "../../pkg/pods/pod-state.ts"
import type { Protocol } from "./policy-rules.ts"

/** What policies need to know of a pod. */
export interface PodFacts {
  /** `<namespace>/<name>`, since a static pod and its mirror pod have different uids. */
  readonly key: string
  readonly namespace: string
  readonly labels: Labels | undefined
  readonly addresses: readonly string[]
  readonly ports: readonly PodPort[]
  /** Whether it is on this node, whose kernel then checks all its packets. */
  readonly isHere: boolean
}

export interface PodPort {
  readonly name: string
  readonly protocol: Protocol
  readonly number: number
}

/** Whether policies apply to the pod: not to one that uses the node's network, nor to one that has ended. */
export const isSubject = (pod: Pod): boolean => pod.spec.hostNetwork !== true && !isPodTerminal(pod)

/** `addresses` are those that the pod has now; its status may not show them yet. */
export const podFacts = (pod: Pod, addresses: readonly string[], nodeName: string): PodFacts => ({
  key: keyFrom(pod.metadata),
  namespace: pod.metadata.namespace ?? "",
  labels: pod.metadata.labels,
  addresses,
  ports: namedPorts(pod),
  isHere: pod.spec.nodeName === nodeName,
})

/** Returns the addresses in the pod's status. Invalid ones are left out, since addresses become part of commands. */
export const reportedAddresses = ({ status }: Pod): readonly string[] => {
  const { podIPs = [], podIP } = status
  const all = podIPs.flatMap(({ ip }) => (ip ? [ip] : []))
  return (all.length > 0 ? all : podIP ? [podIP] : []).filter((address) => parseAddress(address) !== undefined)
}

/** Returns the named ports of containers that run for the pod's whole life. Source: pkg/api/v1/pod/util.go FindPort. */
function namedPorts({ spec }: Pod): readonly PodPort[] {
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always")
  return [...spec.containers, ...sidecars].flatMap(({ ports = [] }) =>
    ports.flatMap(({ name, protocol, containerPort }) =>
      name ? [{ name, protocol: (protocol ?? "TCP") as Protocol, number: containerPort }] : [],
    ),
  )
}
