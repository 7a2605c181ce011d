import type { PodSandbox, PodSandboxConfig, PodSandboxStatus } from "../../../../../pkg/cri/sandbox.ts"
import type { NamespaceOption } from "../../../../../pkg/cri/security.ts"
import type { ContainerConfig } from "../../../../../pkg/cri/container.ts"
import type { RunningAs } from "./behaviour.ts"
import type { SimulatedContainer } from "./container.ts"

/** What is asked for of a sandbox again; there may be very many. */
export type KeptSandboxConfig = Pick<PodSandboxConfig, "metadata" | "labels" | "annotations">

/** A pod sandbox of a simulated node. */
export interface Sandbox {
  readonly id: string
  readonly config: KeptSandboxConfig
  readonly namespaces: NamespaceOption | undefined
  /** Its addresses, the main one first. */
  readonly ips: readonly string[]
  readonly hostNetwork: boolean
  readonly createdAt: number
  readonly handler: string
  ready: boolean
  /** A list instead of a map, since there are very many sandboxes with a few containers each. */
  containers: readonly SimulatedContainer[]
}

/** Returns the sandbox as an item of ListPodSandbox. */
export function listedSandbox({ id, config, ready, createdAt, handler }: Sandbox): PodSandbox {
  const { name = "", uid = "", namespace = "", attempt = 0 } = config.metadata ?? {}
  return {
    id,
    metadata: { name, uid, namespace, attempt },
    state: ready ? "SANDBOX_READY" : "SANDBOX_NOTREADY",
    createdAt: createdAt * 1e6,
    labels: config.labels ?? {},
    annotations: config.annotations ?? {},
    runtimeHandler: handler,
  }
}

/** Returns the sandbox as PodSandboxStatus. */
export function sandboxStatus(sandbox: Sandbox): PodSandboxStatus {
  const { hostNetwork, namespaces } = sandbox
  const [ip = "", ...others] = hostNetwork ? [] : sandbox.ips
  return {
    ...listedSandbox(sandbox),
    network: { ip, additionalIps: others.map((other) => ({ ip: other })) },
    linux: {
      namespaces: {
        options: {
          network: hostNetwork ? "NODE" : "POD",
          pid: namespaces?.pid ?? "POD",
          ipc: namespaces?.ipc ?? "POD",
          targetId: "",
          usernsOptions: undefined,
        },
      },
    },
  }
}

/** Returns what a container of a sandbox runs as, by which its behaviour is found. */
export const runningAs = ({ config: { metadata } }: Sandbox, config: ContainerConfig, image: string): RunningAs => ({
  namespace: metadata?.namespace ?? "",
  pod: metadata?.name ?? "",
  container: config.metadata?.name ?? "",
  image: config.image?.userSpecifiedImage ?? image,
})
