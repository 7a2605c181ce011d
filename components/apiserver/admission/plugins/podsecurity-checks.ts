/** The single checks of the Pod Security Standards, in the order and words of upstream. Source: k8s.io/pod-security-admission/policy. */
import type { Pod } from "../../../../pkg/api/core/v1/pod.ts"
import { containersOf } from "./pods.ts"

export type Level = "privileged" | "baseline" | "restricted"
type Check = (pod: Pod) => string | undefined
type Container = ReturnType<typeof containersOf>[number]

const quoted = (names: readonly string[]): string => names.map((name) => JSON.stringify(name)).join(", ")
const plural = (names: readonly string[], one: string, many: string): string => `${names.length === 1 ? one : many} ${quoted(names)}`
const containers = (names: readonly string[]) => plural(names, "container", "containers")
const must = (names: readonly string[], what: string) => `${containers(names)} must ${what}`
const named = (pod: Pod, bad: (container: Container) => boolean): readonly string[] => containersOf(pod).filter(bad).map(({ name }) => name)

/** Capabilities that containers have by default in most runtimes. */
const BASELINE_CAPABILITIES = new Set(["AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"])
const SAFE_SYSCTLS = new Set([
  "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start", "net.ipv4.ip_local_reserved_ports",
  "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
])
const SELINUX_TYPES = new Set(["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"])
const RESTRICTED_VOLUMES = new Set(["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret", "image"])

const BASELINE: readonly Check[] = [
  ({ spec }) => {
    const set = (["hostNetwork", "hostPID", "hostIPC"] as const).filter((field) => spec[field] === true)
    return set.length === 0 ? undefined : `host namespaces (${set.map((field) => `${field}=true`).join(", ")})`
  },
  (pod) => faulty(named(pod, ({ securityContext }) => securityContext?.privileged === true), (names) => `privileged (${must(names, "not set securityContext.privileged=true")})`),
  (pod) => {
    const extra = (container: Container) => (container.securityContext?.capabilities?.add ?? []).filter((name) => !BASELINE_CAPABILITIES.has(name))
    const all = [...new Set(containersOf(pod).flatMap(extra))].sort()
    return faulty(named(pod, (container) => extra(container).length > 0), (names) => `non-default capabilities (${must(names, `not include ${quoted(all)} in securityContext.capabilities.add`)})`)
  },
  ({ spec }) => faulty((spec.volumes ?? []).filter(({ hostPath }) => hostPath !== undefined).map(({ name }) => name), (names) => `hostPath volumes (${plural(names, "volume", "volumes")})`),
  (pod) => {
    const ports = [...new Set(containersOf(pod).flatMap(({ ports }) => (ports ?? []).flatMap(({ hostPort }) => hostPort || [])))].sort((a, b) => a - b)
    return faulty(named(pod, ({ ports }) => ports?.some(({ hostPort }) => hostPort) === true), (names) => `hostPort (${containers(names)} ${names.length === 1 ? "uses" : "use"} ${ports.length === 1 ? "hostPort" : "hostPorts"} ${ports.join(", ")})`)
  },
  (pod) => {
    const isBad = (profile: { readonly type?: string | undefined } | undefined) => profile?.type === "Unconfined"
    const bad = named(pod, ({ securityContext }) => isBad(securityContext?.appArmorProfile))
    return isBad(pod.spec.securityContext.appArmorProfile) || bad.length > 0 ? `forbidden AppArmor profile (${[...(isBad(pod.spec.securityContext.appArmorProfile) ? ["pod"] : []), ...(bad.length > 0 ? [containers(bad)] : [])].join(" and ")} must not set AppArmor profile type to "Unconfined")` : undefined
  },
  (pod) => {
    const isBad = (options: { readonly type?: string | undefined; readonly user?: string | undefined; readonly role?: string | undefined } | undefined) => options !== undefined && (!SELINUX_TYPES.has(options.type ?? "") || !!options.user || !!options.role)
    const bad = named(pod, ({ securityContext }) => isBad(securityContext?.seLinuxOptions))
    const own = isBad(pod.spec.securityContext.seLinuxOptions)
    return own || bad.length > 0 ? `seLinuxOptions (${[...(own ? ["pod"] : []), ...(bad.length > 0 ? [containers(bad)] : [])].join(" and ")} set forbidden securityContext.seLinuxOptions)` : undefined
  },
  (pod) => (pod.spec.hostUsers === false ? undefined : faulty(named(pod, ({ securityContext }) => (securityContext?.procMount ?? "Default") !== "Default"), (names) => `procMount (${must(names, `not set securityContext.procMount to "Unmasked"`)})`)),
  ({ spec }) => faulty((spec.securityContext.sysctls ?? []).map(({ name }) => name).filter((name) => !SAFE_SYSCTLS.has(name)), (names) => `forbidden sysctls (${names.join(", ")})`),
  (pod) => {
    const bad = named(pod, ({ securityContext }) => securityContext?.windowsOptions?.hostProcess === true)
    const own = pod.spec.securityContext.windowsOptions?.hostProcess === true
    return own || bad.length > 0 ? `hostProcess (${[...(own ? ["pod"] : []), ...(bad.length > 0 ? [containers(bad)] : [])].join(" and ")} must not set securityContext.windowsOptions.hostProcess=true)` : undefined
  },
  (pod) => faulty(named(pod, (container) => probesOf(container).some((probe) => !!(probe?.httpGet?.host || probe?.tcpSocket?.host))), (names) => `probe or lifecycle host (${must(names, `not set host fields in probes or lifecycle hooks`)})`),
]

const SECCOMP_BASELINE: Check = (pod) => {
  const isBad = (profile: { readonly type?: string | undefined } | undefined) => profile?.type === "Unconfined"
  const bad = named(pod, ({ securityContext }) => isBad(securityContext?.seccompProfile))
  const own = isBad(pod.spec.securityContext.seccompProfile)
  return own || bad.length > 0 ? `seccompProfile (${[...(own ? ["pod"] : []), ...(bad.length > 0 ? [containers(bad)] : [])].join(" and ")} must not set securityContext.seccompProfile.type to "Unconfined")` : undefined
}

const RESTRICTED: readonly Check[] = [
  (pod) => onLinux(pod, faulty(named(pod, ({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false), (names) => `allowPrivilegeEscalation != false (${must(names, "set securityContext.allowPrivilegeEscalation=false")})`)),
  (pod) => {
    const keeps = named(pod, ({ securityContext }) => securityContext?.capabilities?.drop?.includes("ALL") !== true)
    const adds = named(pod, ({ securityContext }) => securityContext?.capabilities?.add?.some((name) => name !== "NET_BIND_SERVICE") === true)
    const parts = [...(keeps.length > 0 ? [must(keeps, `set securityContext.capabilities.drop=["ALL"]`)] : []), ...(adds.length > 0 ? [must(adds, `not include ${quoted([...new Set(containersOf(pod).flatMap(({ securityContext }) => (securityContext?.capabilities?.add ?? []).filter((name) => name !== "NET_BIND_SERVICE")))].sort())} in securityContext.capabilities.add`)] : [])]
    return onLinux(pod, parts.length === 0 ? undefined : `unrestricted capabilities (${parts.join("; ")})`)
  },
  ({ spec }) => {
    const bad = (spec.volumes ?? []).map((volume) => ({ name: volume.name, type: Object.keys(volume).find((key) => key !== "name" && volume[key as keyof typeof volume] !== undefined) ?? "emptyDir" })).filter(({ type }) => !RESTRICTED_VOLUMES.has(type))
    const types = [...new Set(bad.map(({ type }) => type))].sort()
    return bad.length === 0 ? undefined : `restricted volume types (${plural(bad.map(({ name }) => name), "volume", "volumes")} ${bad.length === 1 ? "uses" : "use"} restricted volume ${types.length === 1 ? "type" : "types"} ${quoted(types)})`
  },
  (pod) => {
    const own = pod.spec.securityContext.runAsNonRoot
    const root = named(pod, ({ securityContext }) => securityContext?.runAsNonRoot === false)
    const unset = own === true ? [] : named(pod, ({ securityContext }) => securityContext?.runAsNonRoot === undefined)
    const bad = own === false && unset.length > 0 ? [`pod must not set securityContext.runAsNonRoot=false`] : []
    if (root.length > 0) bad.push(must(root, "not set securityContext.runAsNonRoot=false"))
    if (bad.length === 0 && unset.length > 0) bad.push(`pod or ${must(unset, "set securityContext.runAsNonRoot=true")}`)
    return pod.spec.hostUsers === false || bad.length === 0 ? undefined : `runAsNonRoot != true (${bad.join(" and ")})`
  },
  (pod) => {
    const own = pod.spec.securityContext.runAsUser === 0
    const bad = named(pod, ({ securityContext }) => securityContext?.runAsUser === 0)
    return pod.spec.hostUsers === false || (!own && bad.length === 0) ? undefined : `runAsUser=0 (${[...(own ? ["pod"] : []), ...(bad.length > 0 ? [containers(bad)] : [])].join(" and ")} must not set runAsUser=0)`
  },
  (pod) => {
    const good = (type: string | undefined) => type === "RuntimeDefault" || type === "Localhost"
    const own = pod.spec.securityContext.seccompProfile?.type
    const explicit = named(pod, ({ securityContext }) => securityContext?.seccompProfile !== undefined && !good(securityContext.seccompProfile.type))
    const unset = good(own) ? [] : named(pod, ({ securityContext }) => securityContext?.seccompProfile === undefined)
    const parts = [...(explicit.length > 0 ? [must(explicit, `not set securityContext.seccompProfile.type to "Unconfined"`)] : []), ...(unset.length > 0 ? [`pod or ${must(unset, `set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`)}`] : [])]
    return onLinux(pod, parts.length === 0 ? undefined : `seccompProfile (${parts.join("; ")})`)
  },
]

/** What a pod does against a level of the standards; nothing when it keeps to it. `restricted` includes `baseline`. */
export function violations(pod: Pod, level: Level): readonly string[] {
  const checks = level === "privileged" ? [] : level === "baseline" ? [...BASELINE, SECCOMP_BASELINE] : [...BASELINE, ...RESTRICTED]
  return checks.flatMap((check) => check(pod) ?? [])
}

const faulty = (names: readonly string[], text: (names: readonly string[]) => string): string | undefined => (names.length === 0 ? undefined : text(names))
const onLinux = ({ spec }: Pod, text: string | undefined): string | undefined => (spec.os?.name === "windows" ? undefined : text)
const probesOf = ({ livenessProbe, readinessProbe, startupProbe, lifecycle }: Container) => [livenessProbe, readinessProbe, startupProbe, lifecycle?.postStart, lifecycle?.preStop]
