import { join } from "node:path"
import type { KubeletConfig } from "./config.ts"
import type { PodIdentity } from "./pod-identity.ts"

export const podFolder = ({ root }: KubeletConfig, uid: string): string => join(root, "pods", uid)
export const etcHosts = (config: KubeletConfig, uid: string): string => join(podFolder(config, uid), "etc-hosts")
/** Returns the file of the termination message of one run of a container. */
export const terminationFile = (config: KubeletConfig, uid: string, container: string, attempt: number): string =>
  join(podFolder(config, uid), "containers", container, String(attempt))

/**
 * Returns the folder of a pod's logs, whose name other log readers know. Source: pkg/kubelet/kuberuntime/helpers.go
 * BuildPodLogsDirectory.
 */
export const podLogFolder = ({ podLogs }: KubeletConfig, { namespace, name, uid }: PodIdentity): string =>
  join(podLogs, `${namespace}_${name}_${uid}`)
export const containerLogPath = (container: string, attempt: number): string => `${container}/${attempt}.log`
