import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { PodSandboxConfig } from "../../../pkg/cri/sandbox.ts"
import type { LinuxContainerResources } from "../../../pkg/cri/resources.ts"
import { containersOf } from "../model/containers.ts"
import type { KubeletConfig } from "../model/config.ts"
import { podDns, type Resolver } from "./dns.ts"
import { kernelHostname } from "./hostname.ts"
import { podLabels } from "../model/labels.ts"
import { podLogFolder } from "../model/pod-paths.ts"
import { CPU_PERIOD, cpuQuota, cpuShares, podSums, qosClass } from "../model/qos.ts"
import { sandboxSecurity } from "../security/security-context.ts"
import { podSysctls } from "../security/sysctls.ts"
import type { UserNamespaceOptions } from "../security/user-namespaces.ts"
import { identityOf } from "../model/pod-identity.ts"

export interface SandboxRequest {
  readonly pod: Pod
  readonly attempt: number
  readonly config: KubeletConfig
  readonly hostResolver: Resolver
  readonly nodeHostname: string
  /** The runtime's name of the pod's cgroup. */
  readonly cgroupParent: string
  /** The ids of a pod with `hostUsers: false`. */
  readonly users?: UserNamespaceOptions | undefined
}

/**
 * Source: pkg/kubelet/kuberuntime/kuberuntime_sandbox.go generatePodSandboxConfig. @throws Error when the host name is
 * too long
 */
export function sandboxConfig({
  pod,
  attempt,
  config,
  hostResolver,
  nodeHostname,
  cgroupParent,
  users,
}: SandboxRequest): PodSandboxConfig {
  const { name, namespace, uid } = identityOf(pod)
  const ports = containersOf(pod)
    .filter(({ type }) => type !== "init")
    .flatMap(({ container }) => container.ports ?? [])
  const resources = podResources(pod)
  return {
    metadata: { name, namespace, uid, attempt },
    ...(pod.spec.hostNetwork === true ? {} : { hostname: kernelHostname(pod, config.clusterDomain, nodeHostname) }),
    logDirectory: podLogFolder(config, { name, namespace, uid }),
    dnsConfig: podDns(pod, config, hostResolver),
    portMappings:
      pod.spec.hostNetwork === true
        ? []
        : ports
            .filter(({ hostPort = 0 }) => hostPort > 0)
            .map(({ protocol, containerPort, hostPort, hostIP = "" }) => ({
              protocol,
              containerPort,
              hostPort,
              hostIp: hostIP,
            })),
    labels: podLabels(pod),
    annotations: { ...pod.metadata.annotations },
    linux: { cgroupParent, securityContext: sandboxSecurity(pod, users), sysctls: podSysctls(pod), resources },
  }
}

/** The cgroup of the pod, below that of its class of service. Source: pkg/kubelet/cm/pod_container_manager_linux.go. */
export function podCgroup(pod: Pod): readonly string[] {
  const qos = qosClass(pod)
  return ["kubepods", ...(qos === "Guaranteed" ? [] : [qos.toLowerCase()]), `pod${pod.metadata.uid ?? ""}`]
}

/** Limits of the pod as a whole. Source: pkg/kubelet/cm/helpers_linux.go ResourceConfigForPod. */
export function podResources(pod: Pod): LinuxContainerResources {
  const sums = podSums(pod)
  const qos = qosClass(pod)
  return {
    cpuShares: qos === "BestEffort" ? cpuShares(0) : cpuShares(sums.cpuRequest),
    cpuPeriod: CPU_PERIOD,
    ...(qos !== "BestEffort" && sums.cpuLimit > 0 ? { cpuQuota: cpuQuota(sums.cpuLimit) } : {}),
    ...(qos !== "BestEffort" && sums.memoryLimit > 0 ? { memoryLimitInBytes: sums.memoryLimit } : {}),
  }
}
