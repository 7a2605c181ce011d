import type { Pod } from "../api/core/v1/pod/pod.ts"

/** A port of the node that a pod occupies. */
export interface HostPort {
  readonly ip: string
  readonly protocol: string
  readonly port: number
}

/**
 * Returns the host ports of the pod's long-running containers: containers and sidecars, but no other init containers.
 */
export const hostPortsOf = ({ spec }: Pod): readonly HostPort[] =>
  spec.containers.some(hasPorts) || spec.initContainers?.some(hasPorts) === true ? wantedPorts(spec) : NONE

const NONE: readonly HostPort[] = []
const hasPorts = ({ ports }: Pod["spec"]["containers"][number]): boolean => ports !== undefined

const wantedPorts = ({ containers, initContainers = [] }: Pod["spec"]): readonly HostPort[] =>
  [...containers, ...initContainers.filter(({ restartPolicy }) => restartPolicy === "Always")]
    .flatMap(({ ports }) => ports ?? [])
    .filter(({ hostPort }) => hostPort !== undefined && hostPort > 0)
    .map(({ hostIP, protocol, hostPort }) => ({ ip: hostIP || "0.0.0.0", protocol, port: hostPort! }))

/**
 * Returns whether two pods cannot use these ports on the same node. The wildcard address conflicts with every address.
 * Source: kube-scheduler framework/types.go HostPortInfo.
 */
export const portsClash = (a: HostPort, b: HostPort): boolean =>
  a.port === b.port && a.protocol === b.protocol && (a.ip === b.ip || a.ip === "0.0.0.0" || b.ip === "0.0.0.0")
