import type { Container, Pod, PodSpec } from "../../polymorphic/pod.ts"

/** What a debugging container is made in. */
export type DebugStyle = "ephemeral" | "copy" | "node"

/** What a copy of a pod keeps of it. */
export interface Kept {
  readonly labels: boolean
  readonly annotations: boolean
  readonly liveness: boolean
  readonly readiness: boolean
  readonly startup: boolean
  readonly initContainers: boolean
}

/** Changes a pod, and the container of that name in it. Source of this file: kubectl pkg/cmd/debug/profiles.go. */
export type Profile = (pod: DebugPod, container: string, style: DebugStyle, kept: Kept) => void

/** A pod that is being made. */
export interface DebugPod extends Pod {
  spec: PodSpec
}

interface SecurityContext {
  runAsUser?: number
  privileged?: boolean
  capabilities?: { add?: string[]; drop?: string[] }
  [field: string]: unknown
}

const PROFILES: Readonly<Record<string, Profile>> = {
  legacy(pod, name, style) {
    if (style === "node") {
      mountRoot(pod, name)
      useHost(pod)
    } else if (style === "copy") delete pod.metadata?.labels
  },
  general(pod, name, style, kept) {
    if (style === "node") {
      mountRoot(pod, name)
      clearSecurity(pod, name)
      useHost(pod)
      return
    }
    if (style === "copy") strip(pod, kept)
    addCapabilities(pod, name, "SYS_PTRACE")
    if (style === "copy") shareProcesses(pod)
  },
  baseline(pod, name, style, kept) {
    clearSecurity(pod, name)
    stripAndShare(pod, style, kept)
  },
  restricted(pod, name, style, kept) {
    clearSecurity(pod, name)
    secure(pod, name, {
      capabilities: { drop: ["ALL"] },
      runAsNonRoot: true,
      allowPrivilegeEscalation: false,
      seccompProfile: { type: "RuntimeDefault" },
    })
    stripAndShare(pod, style, kept)
  },
  netadmin(pod, name, style, kept) {
    addCapabilities(pod, name, "NET_ADMIN", "NET_RAW")
    if (style === "node") useHost(pod)
    stripAndShare(pod, style, kept)
  },
  sysadmin(pod, name, style, kept) {
    secure(pod, name, { privileged: true })
    if (style === "node") {
      useHost(pod)
      mountRoot(pod, name)
    }
    stripAndShare(pod, style, kept)
  },
}

/** @throws Error for a name that no profile has */
export function profileOf(name: string): Profile {
  if (!Object.hasOwn(PROFILES, name)) throw new Error(`unknown profile: ${name}`)
  return PROFILES[name]!
}

export const securityOf = (container: Container): SecurityContext | undefined =>
  container["securityContext"] as SecurityContext | undefined

const find = ({ spec }: DebugPod, name: string): Container | undefined =>
  [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])].find(
    (each) => each.name === name,
  )

function secure(pod: DebugPod, name: string, fields: SecurityContext): void {
  const container = find(pod, name)
  if (container !== undefined) container["securityContext"] = { ...securityOf(container), ...fields }
}

function clearSecurity(pod: DebugPod, name: string): void {
  const container = find(pod, name)
  if (container !== undefined) delete container["securityContext"]
}

function addCapabilities(pod: DebugPod, name: string, ...added: readonly string[]): void {
  const container = find(pod, name)
  if (container === undefined) return
  const capabilities = securityOf(container)?.capabilities
  secure(pod, name, { capabilities: { ...capabilities, add: [...(capabilities?.add ?? []), ...added] } })
}

/** Mounts the root of the node at /host. */
function mountRoot({ spec }: DebugPod, name: string): void {
  const volume = { name: "host-root", hostPath: { path: "/" } }
  spec["volumes"] = [...((spec["volumes"] ?? []) as readonly unknown[]), volume]
  const container = spec.containers.find((each) => each.name === name)
  if (container === undefined) return
  const mounts = (container["volumeMounts"] ?? []) as readonly unknown[]
  container["volumeMounts"] = [...mounts, { name: "host-root", mountPath: "/host" }]
}

function useHost({ spec }: DebugPod): void {
  Object.assign(spec, { hostNetwork: true, hostPID: true, hostIPC: true })
}

function shareProcesses({ spec }: DebugPod): void {
  spec["shareProcessNamespace"] ??= true
}

function stripAndShare(pod: DebugPod, style: DebugStyle, kept: Kept): void {
  if (style !== "copy") return
  strip(pod, kept)
  shareProcesses(pod)
}

/** Takes from a copy what would have it take part in the work of the original. */
function strip({ metadata, spec }: DebugPod, kept: Kept): void {
  if (!kept.labels) delete metadata?.labels
  if (!kept.annotations) delete metadata?.annotations
  for (const container of spec.containers) {
    if (!kept.liveness) delete container["livenessProbe"]
    if (!kept.readiness) delete container["readinessProbe"]
    if (!kept.startup) delete container["startupProbe"]
  }
  if (!kept.initContainers) delete spec.initContainers
}
