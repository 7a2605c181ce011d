import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { parseAddress } from "../../pkg/apimachinery/cidr.ts"
import type { Labels } from "../../pkg/apimachinery/labels.ts"
import { keyFrom } from "../../pkg/client/informer.ts"
import { isPodTerminal } from "../../pkg/pods/pod-state.ts"
import type { Protocol } from "./policy-rules.ts"

/** What policies ask of a pod. */
export interface PodFacts {
  /** `<namespace>/<name>`: a static pod and its mirror have different uids, and are one. */
  readonly key: string
  readonly namespace: string
  readonly labels: Labels | undefined
  readonly addresses: readonly string[]
  readonly ports: readonly PodPort[]
}

export interface PodPort {
  readonly name: string
  readonly protocol: Protocol
  readonly number: number
}

/** Has traffic of its own that policies are about: not one that shares the node's network, nor one that has ended. */
export const isSubject = (pod: Pod): boolean => pod.spec.hostNetwork !== true && !isPodTerminal(pod)

/** `addresses` are those the pod has now, which its status may not show yet. */
export const podFacts = (pod: Pod, addresses: readonly string[]): PodFacts => ({
  key: keyFrom(pod.metadata),
  namespace: pod.metadata.namespace ?? "",
  labels: pod.metadata.labels,
  addresses,
  ports: namedPorts(pod),
})

/** Addresses that the pod's status shows; what is no address is left out, since it would stand among commands. */
export const reportedAddresses = ({ status }: Pod): readonly string[] => {
  const { podIPs = [], podIP } = status
  const all = podIPs.flatMap(({ ip }) => (ip ? [ip] : []))
  return (all.length > 0 ? all : podIP ? [podIP] : []).filter((address) => parseAddress(address) !== undefined)
}

/** Ports with a name, of the containers that run as long as the pod. Source: pkg/api/v1/pod/util.go FindPort. */
function namedPorts({ spec }: Pod): readonly PodPort[] {
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always")
  return [...spec.containers, ...sidecars].flatMap(({ ports = [] }) =>
    ports.flatMap(({ name, protocol, containerPort }) =>
      name ? [{ name, protocol: (protocol ?? "TCP") as Protocol, number: containerPort }] : [],
    ),
  )
}
