import { join } from "node:path"
import type { KubeletConfig } from "../context.ts"
import type { PodIdentity } from "./pod-identity.ts"

export const podFolder = ({ root }: KubeletConfig, uid: string): string => join(root, "pods", uid)
export const etcHosts = (config: KubeletConfig, uid: string): string => join(podFolder(config, uid), "etc-hosts")
/** A file for the last words of one run of a container. */
export const terminationFile = (config: KubeletConfig, uid: string, container: string, attempt: number): string =>
  join(podFolder(config, uid), "containers", container, String(attempt))

/** Log readers outside know these names too. Source: pkg/kubelet/kuberuntime/helpers.go BuildPodLogsDirectory. */
export const podLogFolder = ({ podLogs }: KubeletConfig, { namespace, name, uid }: PodIdentity): string =>
  join(podLogs, `${namespace}_${name}_${uid}`)
export const containerLogPath = (container: string, attempt: number): string => `${container}/${attempt}.log`
