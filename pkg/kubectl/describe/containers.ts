import { goQuoted } from "../../apimachinery/go/go-text.ts"
import type { Container, ContainerPort } from "../../api/core/v1/container/container.ts"
import type { SeccompProfile } from "../../api/core/v1/container/securitycontext.ts"
import type { ContainerState, ContainerStatus } from "../../api/core/v1/pod/podstatus.ts"
import type { ObjectMeta } from "../../apimachinery/meta.ts"
import { describeEnv, describeEnvFrom } from "./environment.ts"
import type { PrefixWriter } from "./prefix-writer.ts"
import { probeText } from "./probes.ts"
import { describeResources } from "./resources.ts"
import type { TimeZone } from "../environment/time-zone.ts"
import { longTime } from "./times.ts"

/** What is described of containers, those of a template included. */
export interface Containers {
  readonly title: string
  readonly containers: readonly Omit<Container, "restartPolicyRules">[]
  readonly statuses?: readonly ContainerStatus[] | undefined
  /** The metadata of the pod; undefined in a template. */
  readonly metadata?: ObjectMeta
  /** Spaces before the title: those of a pod template. */
  readonly indent?: string
  readonly zone: TimeZone
}

export function describeContainers(
  w: PrefixWriter,
  { title, containers, statuses = [], metadata, indent = "", zone }: Containers,
): void {
  w.row(0, `${indent}${title}:${containers.length === 0 ? " <none>" : ""}`)
  for (const container of containers) {
    const status = statuses.findLast(({ name }) => name === container.name)
    w.row(1, `${indent === "" ? "" : " "}${container.name}:`)
    describeImageAndPorts(w, container, status)
    describeCommand(w, "Command:", container.command)
    describeCommand(w, "Args:", container.args)
    if (status !== undefined) describeStates(w, status, zone)
    describeResources(w, 2, container.resources)
    describeProbes(w, container)
    describeEnvFrom(w, container)
    describeEnv(w, container, metadata)
    describeMounts(w, container)
  }
}

function describeImageAndPorts(
  w: PrefixWriter,
  { image = "", ports = [], securityContext }: Container,
  status: ContainerStatus | undefined,
): void {
  if (status !== undefined) w.row(2, "Container ID:", status.containerID ?? "")
  w.row(2, "Image:", image)
  if (status !== undefined) w.row(2, "Image ID:", status.imageID)
  describePorts(w, "Port", ports, ({ containerPort }) => containerPort)
  describePorts(w, "Host Port", ports, ({ hostPort = 0 }) => hostPort)
  if (securityContext?.seccompProfile) describeSeccompProfile(w, 2, securityContext.seccompProfile)
}

/** Writes a seccomp profile; its file stands one level deeper in a container than in a pod. */
export function describeSeccompProfile(w: PrefixWriter, level: 0 | 2, profile: SeccompProfile): void {
  w.row(level, "SeccompProfile:", profile.type)
  if (profile.type === "Localhost") w.row(level === 0 ? 0 : 3, "LocalhostProfile:", profile.localhostProfile ?? "")
}

function describePorts(
  w: PrefixWriter,
  title: string,
  ports: readonly ContainerPort[],
  number: (port: ContainerPort) => number,
): void {
  const texts = ports.map((port) => `${number(port)}/${port.protocol}${port.name ? ` (${port.name})` : ""}`)
  w.row(2, texts.length > 1 ? `${title}s:` : `${title}:`, texts.join(", ") || "<none>")
}

function describeCommand(w: PrefixWriter, title: string, words: readonly string[] = []): void {
  if (words.length === 0) return
  w.row(2, title)
  for (const line of words.flatMap((word) => word.split("\n"))) w.row(3, line)
}

function describeStates(w: PrefixWriter, status: ContainerStatus, zone: TimeZone): void {
  const { state = {}, lastState, ready, restartCount } = status
  describeState(w, "State:", state, zone)
  if (lastState?.terminated) describeState(w, "Last State:", lastState, zone)
  w.row(2, "Ready:", ready ? "True" : "False")
  w.row(2, "Restart Count:", restartCount)
}

function describeState(
  w: PrefixWriter,
  title: string,
  { running, waiting, terminated }: ContainerState,
  zone: TimeZone,
): void {
  if (running) {
    w.row(2, title, "Running")
    w.row(3, "Started:", longTime(running.startedAt, zone))
  } else if (waiting || !terminated) {
    w.row(2, title, "Waiting")
    if (waiting?.reason) w.row(3, "Reason:", waiting.reason)
  } else {
    w.row(2, title, "Terminated")
    if (terminated.reason) w.row(3, "Reason:", terminated.reason)
    if (terminated.message) w.row(3, "Message:", terminated.message)
    w.row(3, "Exit Code:", terminated.exitCode)
    if ((terminated.signal ?? 0) > 0) w.row(3, "Signal:", terminated.signal ?? 0)
    w.row(3, "Started:", longTime(terminated.startedAt, zone))
    w.row(3, "Finished:", longTime(terminated.finishedAt, zone))
  }
}

function describeProbes(w: PrefixWriter, { livenessProbe, readinessProbe, startupProbe }: Container): void {
  if (livenessProbe) w.row(2, "Liveness:", probeText(livenessProbe))
  if (readinessProbe) w.row(2, "Readiness:", probeText(readinessProbe))
  if (startupProbe) w.row(2, "Startup:", probeText(startupProbe))
}

function describeMounts(w: PrefixWriter, { volumeMounts = [], volumeDevices = [] }: Container): void {
  // The devices of a container without mounts have this word too.
  const none = volumeMounts.length === 0 ? "\t<none>" : ""
  w.write(2, `Mounts:${none}\n`)
  for (const { mountPath, name, readOnly, subPath = "" } of volumeMounts.toSorted(by("mountPath"))) {
    const flags = [readOnly ? "ro" : "rw", ...(subPath === "" ? [] : [`path=${goQuoted(subPath)}`])]
    w.row(3, `${mountPath} from ${name} (${flags.join(",")})`)
  }
  if (volumeDevices.length === 0) return
  w.write(2, `Devices:${none}\n`)
  for (const { devicePath, name } of volumeDevices.toSorted(by("devicePath"))) w.row(3, `${devicePath} from ${name}`)
}

/** Orders objects by one of their texts. */
export const by =
  <K extends string>(key: K) =>
  (a: Readonly<Record<K, string>>, b: Readonly<Record<K, string>>): number =>
    a[key] < b[key] ? -1 : a[key] > b[key] ? 1 : 0
