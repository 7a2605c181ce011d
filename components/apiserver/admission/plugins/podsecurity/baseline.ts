/**
 * The rules of the baseline level of the Pod Security Standards. Order and messages are upstream's. Source:
 * k8s.io/pod-security-admission/policy.
 */
import type { Pod } from "../../../../../pkg/api/core/v1/pod/pod.ts"
import { containersOf } from "../pods.ts"
import {
  badSetters,
  containersText,
  distinct,
  hasUserNamespace,
  namesWhere,
  plural,
  quoted,
  type Check,
  type Container,
  type Finding,
} from "./check.ts"

const APPARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"
const SECCOMP_POD_ANNOTATION = "seccomp.security.alpha.kubernetes.io/pod"
const SECCOMP_ANNOTATION = "container.seccomp.security.alpha.kubernetes.io/"

/** The capabilities that most container runtimes give by default. */
const DEFAULT_CAPABILITIES = new Set([
  "AUDIT_WRITE",
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "MKNOD",
  "NET_BIND_SERVICE",
  "SETFCAP",
  "SETGID",
  "SETPCAP",
  "SETUID",
  "SYS_CHROOT",
])
/** The sysctls that affect the pod alone, with the minor version of the standard since which they are allowed. */
const SAFE_SYSCTLS: Readonly<Record<string, number>> = {
  "kernel.shm_rmid_forced": 0,
  "net.ipv4.ip_local_port_range": 0,
  "net.ipv4.tcp_syncookies": 0,
  "net.ipv4.ping_group_range": 0,
  "net.ipv4.ip_unprivileged_port_start": 0,
  "net.ipv4.ip_local_reserved_ports": 27,
  "net.ipv4.tcp_keepalive_time": 29,
  "net.ipv4.tcp_fin_timeout": 29,
  "net.ipv4.tcp_keepalive_intvl": 29,
  "net.ipv4.tcp_keepalive_probes": 29,
  "net.ipv4.tcp_rmem": 32,
  "net.ipv4.tcp_wmem": 32,
}
const SELINUX_TYPES: Readonly<Record<string, number>> = {
  "": 0,
  container_t: 0,
  container_init_t: 0,
  container_kvm_t: 0,
  container_engine_t: 31,
}

const isKnown = (since: Readonly<Record<string, number>>, name: string, version: number): boolean =>
  Object.hasOwn(since, name) && since[name]! <= version

const isConfined = ({ type }: { readonly type: string }): boolean => type === "RuntimeDefault" || type === "Localhost"

export const BASELINE: readonly Check[] = [
  {
    id: "appArmorProfile",
    since: 0,
    find(pod) {
      const bad = badSetters(
        pod,
        ({ appArmorProfile }) => appArmorProfile,
        (profile) => !isConfined(profile),
      )
      const annotations = Object.entries(pod.metadata.annotations ?? {})
        .filter(
          ([key, value]) =>
            key.startsWith(APPARMOR_ANNOTATION) &&
            value !== "" &&
            value !== "runtime/default" &&
            !value.startsWith("localhost/"),
        )
        .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
        .sort()
      if (bad === undefined && annotations.length === 0) return undefined
      const values = [...distinct((bad?.settings ?? []).map(({ type }) => type)), ...annotations]
      const who = [
        ...(bad === undefined ? [] : [bad.who]),
        ...(annotations.length === 0 ? [] : [plural(annotations.length, "annotation")]),
      ]
      return {
        reason: plural(values.length, "forbidden AppArmor profile"),
        detail: `${who.join(" and ")} must not set AppArmor profile type to ${quoted(values)}`,
      }
    },
  },
  {
    id: "capabilities_baseline",
    since: 0,
    find(pod) {
      const extra = ({ securityContext }: Container) =>
        (securityContext?.capabilities?.add ?? []).filter((name) => !DEFAULT_CAPABILITIES.has(name))
      const names = namesWhere(pod, (container) => extra(container).length > 0)
      return names.length === 0
        ? undefined
        : {
            reason: "non-default capabilities",
            detail:
              `${containersText(names)} must not include ${quoted(distinct(containersOf(pod).flatMap(extra)))} ` +
              "in securityContext.capabilities.add",
          }
    },
  },
  {
    id: "hostNamespaces",
    since: 0,
    find({ spec }) {
      const shared = (["hostNetwork", "hostPID", "hostIPC"] as const).filter((field) => spec[field] === true)
      return shared.length === 0
        ? undefined
        : { reason: "host namespaces", detail: shared.map((field) => `${field}=true`).join(", ") }
    },
  },
  {
    id: "hostPathVolumes",
    since: 0,
    find({ spec }) {
      const names = (spec.volumes ?? []).filter(({ hostPath }) => hostPath !== undefined).map(({ name }) => name)
      return names.length === 0
        ? undefined
        : { reason: "hostPath volumes", detail: `${plural(names.length, "volume")} ${quoted(names)}` }
    },
  },
  {
    id: "hostPorts",
    since: 0,
    find(pod) {
      const portsOf = ({ ports = [] }: Container) =>
        ports.flatMap(({ hostPort }) => (hostPort ? [String(hostPort)] : []))
      const names = namesWhere(pod, (container) => portsOf(container).length > 0)
      const ports = distinct(containersOf(pod).flatMap(portsOf))
      return names.length === 0
        ? undefined
        : {
            reason: "hostPort",
            detail:
              `${containersText(names)} ${plural(names.length, "uses", "use")} ` +
              `${plural(ports.length, "hostPort")} ${ports.join(", ")}`,
          }
    },
  },
  {
    id: "hostProbesAndHostLifecycle",
    since: 34,
    find(pod) {
      const hostsOf = ({ livenessProbe, readinessProbe, startupProbe, lifecycle }: Container) =>
        [livenessProbe, readinessProbe, startupProbe, lifecycle?.postStart, lifecycle?.preStop].flatMap(
          (probe) =>
            [probe?.httpGet?.host, probe?.tcpSocket?.host].filter(
              (host) => host !== undefined && host !== "",
            ) as string[],
        )
      const names = distinct(namesWhere(pod, (container) => hostsOf(container).length > 0))
      const hosts = distinct(containersOf(pod).flatMap(hostsOf))
      return names.length === 0
        ? undefined
        : {
            reason: "probe or lifecycle host",
            detail:
              `${containersText(names)} ${plural(names.length, "uses", "use")} ` +
              `${plural(hosts.length, "probe or lifecycle host")} ${quoted(hosts)}`,
          }
    },
  },
  {
    id: "privileged",
    since: 0,
    find(pod) {
      const names = namesWhere(pod, ({ securityContext }) => securityContext?.privileged === true)
      return names.length === 0
        ? undefined
        : { reason: "privileged", detail: `${containersText(names)} must not set securityContext.privileged=true` }
    },
  },
  {
    id: "procMount",
    since: 0,
    find: (pod, version) => (version >= 35 && hasUserNamespace(pod) ? undefined : procMount(pod)),
  },
  {
    id: "seLinuxOptions",
    since: 0,
    find(pod, version) {
      const isForeign = (type = "") => !isKnown(SELINUX_TYPES, type, version)
      const bad = badSetters(
        pod,
        ({ seLinuxOptions }) => seLinuxOptions,
        ({ type, user, role }) => isForeign(type) || !!user || !!role,
      )
      if (bad === undefined) return undefined
      const types = distinct(bad.settings.flatMap(({ type }) => (isForeign(type) ? [type ?? ""] : [])))
      const what = [
        ...(types.length > 0 ? [`${plural(types.length, "type")} ${quoted(types)}`] : []),
        ...(bad.settings.some(({ user }) => !!user) ? ["user may not be set"] : []),
        ...(bad.settings.some(({ role }) => !!role) ? ["role may not be set"] : []),
      ]
      return {
        reason: "seLinuxOptions",
        detail: `${bad.who} set forbidden securityContext.seLinuxOptions: ${what.join("; ")}`,
      }
    },
  },
  {
    id: "seccompProfile_baseline",
    since: 0,
    find: (pod, version) => (version < 19 ? seccompAnnotations(pod) : unconfined(pod)),
  },
  {
    id: "sysctls",
    since: 0,
    find({ spec }, version) {
      const unsafe = (spec.securityContext.sysctls ?? [])
        .map(({ name }) => name)
        .filter((name) => !isKnown(SAFE_SYSCTLS, name, version))
      return unsafe.length === 0 ? undefined : { reason: "forbidden sysctls", detail: unsafe.join(", ") }
    },
  },
  {
    id: "windowsHostProcess",
    since: 0,
    find(pod) {
      const bad = badSetters(
        pod,
        ({ windowsOptions }) => windowsOptions?.hostProcess,
        (hostProcess) => hostProcess,
      )
      return bad === undefined
        ? undefined
        : { reason: "hostProcess", detail: `${bad.who} must not set securityContext.windowsOptions.hostProcess=true` }
    },
  },
]

export function procMount(pod: Pod): Finding | undefined {
  const typeOf = ({ securityContext }: Container) => securityContext?.procMount ?? "Default"
  const names = namesWhere(pod, (container) => typeOf(container) !== "Default")
  const types = distinct(
    containersOf(pod)
      .map(typeOf)
      .filter((type) => type !== "Default"),
  )
  return names.length === 0
    ? undefined
    : {
        reason: "procMount",
        detail: `${containersText(names)} must not set securityContext.procMount to ${quoted(types)}`,
      }
}

/** Reports pods and containers whose seccomp profile is Unconfined or of an unknown type. */
export function unconfined(pod: Pod): Finding | undefined {
  const bad = badSetters(
    pod,
    ({ seccompProfile }) => seccompProfile,
    (profile) => !isConfined(profile),
  )
  return bad === undefined
    ? undefined
    : {
        reason: "seccompProfile",
        detail:
          `${bad.who} must not set securityContext.seccompProfile.type to ` +
          `${quoted(distinct(bad.settings.map(({ type }) => type)))}`,
      }
}

/** Up to version 1.18 of the standard, seccomp profiles were set by annotations. */
function seccompAnnotations(pod: Pod): Finding | undefined {
  const isGood = (value: string) =>
    value === "runtime/default" || value === "docker/default" || value.startsWith("localhost/")
  const { annotations = {} } = pod.metadata
  const bad = [SECCOMP_POD_ANNOTATION, ...containersOf(pod).map(({ name }) => SECCOMP_ANNOTATION + name)].filter(
    (key) => annotations[key] !== undefined && !isGood(annotations[key]),
  )
  const texts = distinct(bad.map((key) => `${key}=${JSON.stringify(annotations[key])}`))
  return texts.length === 0
    ? undefined
    : { reason: "seccompProfile", detail: `forbidden ${plural(texts.length, "annotation")} ${texts.join(", ")}` }
}
