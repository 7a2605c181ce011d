import type { Probe } from "../../api/core/v1/container/probe.ts"
import type { Container } from "../../api/core/v1/container/container.ts"
import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { ContainerStatus } from "../../api/core/v1/pod/podstatus.ts"
import { humanDuration, parseTime } from "../../apimachinery/scalars/time.ts"
import { finding, type Finding } from "../answer.ts"
import { progressMs, within } from "../under-way.ts"
import { workloadOf } from "../workload.ts"
import type { Ward } from "../doctor.ts"
import { eventsOf, seenAt } from "../events.ts"
import { CLAIMS, refOf } from "../reading/kinds.ts"
import { crashFindings } from "./crash.ts"
import { imageFinding, PULL_REASONS } from "./image.ts"
import { logClues } from "./log-clues.ts"
import { probeFinding } from "./probe.ts"
import { startFinding } from "./start.ts"

/** A container that has crashed counts as crashing until it has run this long, in milliseconds: the kubelet's rule. */
const STABLE_MS = 10 * 60_000

/** Returns why a container does not run or is not ready; empty for one that is well. */
export async function containerFindings(
  pod: Pod,
  container: Container,
  status: ContainerStatus,
  ward: Ward,
): Promise<readonly Finding[]> {
  const { state = {}, lastState = {} } = status
  const waiting = state.waiting
  if (waiting !== undefined) {
    const { reason = "", message = "" } = waiting
    if (PULL_REASONS.includes(reason))
      return [await imageFinding(pod, container, reason, await pullError(pod, container.name, message, ward), ward)]
    if (reason === "CrashLoopBackOff" && lastState.terminated !== undefined)
      return crashFindings(pod, container, status, lastState.terminated, ward)
    if (reason === "CreateContainerConfigError") return [await configError(pod, container, message, ward)]
    if (reason === "PostStartHookError")
      return [
        finding(
          "hook-failed",
          `container ${container.name} is ended, because its postStart hook fails: ${message.trim()}`,
          {
            evidence: [`container ${container.name}: ${reason}`],
          },
        ),
      ]
    if (/Error/.test(reason)) {
      const evidence = [`container ${container.name}: ${reason}: ${message}`]
      const start = await startFinding(pod, container, { exitCode: 1, reason, message }, evidence, ward)
      return [
        start ??
          finding("start-failed", `container ${container.name} cannot start: ${message || reason}`, { evidence }),
      ]
    }
    if (lastState.terminated !== undefined && lastState.terminated.exitCode !== 0)
      return crashFindings(pod, container, status, lastState.terminated, ward)
    return []
  }
  if (state.terminated !== undefined) {
    const restarts = pod.spec.restartPolicy === "Always" || container.restartPolicy === "Always"
    return state.terminated.exitCode === 0 && !restarts
      ? []
      : crashFindings(pod, container, status, state.terminated, ward)
  }
  const ended = lastState.terminated
  const startedAt = parseTime(state.running?.startedAt ?? "") ?? 0
  const isYoung = ward.reader.now - startedAt < STABLE_MS
  if (status.ready === true) {
    if (ended === undefined || !isYoung || (status.restartCount ?? 0) === 0) return []
    const findings = await crashFindings(pod, container, status, ended, ward)
    // It runs at this moment: it is well if it goes on to do so.
    const isFlapping = (status.restartCount ?? 0) > 1 && !hasOutlived(ended, startedAt, ward.reader.now)
    return findings.map((one): Finding => ({ ...one, weight: isFlapping ? "broken" : "note" }))
  }
  return notReady(pod, container, status, ward)
}

/** How much longer than the last run the present one must last to count as better, in milliseconds. */
const MARGIN_MS = 30_000

/** Whether the present run of a container already lasts so much longer than its last one that it will not end so. */
function hasOutlived(
  { startedAt, finishedAt }: NonNullable<ContainerStatus["lastState"]["terminated"]>,
  since: number,
  now: number,
): boolean {
  const [from, to] = [parseTime(startedAt ?? ""), parseTime(finishedAt ?? "")]
  return from !== undefined && to !== undefined && now - since > 2 * (to - from) + MARGIN_MS
}

async function notReady(
  pod: Pod,
  container: Container,
  { started, state, lastState = {}, ...status }: ContainerStatus,
  ward: Ward,
): Promise<readonly Finding[]> {
  const { name } = container
  const unhealthy = (await eventsOf(ward.reader, pod)).filter(
    ({ involvedObject: about, reason }) =>
      reason === "Unhealthy" && (about.fieldPath?.endsWith(`{${name}}`) === true || about.fieldPath === undefined),
  )
  const last = (probe: string) => unhealthy.find(({ message }) => (message ?? "").toLowerCase().startsWith(probe))
  const isStarting = container.startupProbe !== undefined && started !== true
  const probe = isStarting ? "startup" : "readiness"
  const declared = isStarting ? container.startupProbe : container.readinessProbe
  const event = last(probe)
  const since = parseTime(state?.running?.startedAt ?? "")
  if (
    event !== undefined &&
    (since === undefined || seenAt(event) >= since - 1000 || lastState.terminated === undefined)
  ) {
    const clues = await logClues(pod, name, await ward.reader.log(refOf(pod), name), ward)
    const own = await probeFinding(pod, container, probe, event.message ?? "", ward)
    // What the log says explains why the program answers that it is not well.
    const isOwnAnswer = /-(?:status|command|failed|timeout|refused)$/.test(own.cause.code)
    if (isOwnAnswer && clues.length > 0) return [...clues, own]
    const isFirstRun = lastState.terminated === undefined
    return [isOwnAnswer && isFirstRun ? await mayStart(own, pod, declared, since, ward) : own, ...clues]
  }
  if (lastState.terminated !== undefined)
    return crashFindings(
      pod,
      container,
      { started, state, lastState, ...status } as ContainerStatus,
      lastState.terminated,
      ward,
    )
  const age = since === undefined ? "" : ` since ${humanDuration(ward.reader.now - since)}`
  const delay = declared?.initialDelaySeconds ?? 0
  const pending = finding(
    `${probe}-probe-pending`,
    `container ${name} runs${age}, and its ${probe} probe has not succeeded yet` +
      (delay > 0 ? `; the first one comes ${delay} s after the start` : ""),
    { weight: "waiting" },
  )
  return [await mayStart(pending, pod, declared, since, ward)]
}

/**
 * A program needs some time before it answers: nothing is wrong before its probe has failed as often as it may. What
 * takes longer than the workload may take is wrong from the beginning.
 */
async function mayStart(
  one: Finding,
  pod: Pod,
  probe: Probe | undefined,
  since: number | undefined,
  ward: Ward,
): Promise<Finding> {
  const { initialDelaySeconds = 0, failureThreshold = 3, periodSeconds = 10 } = probe ?? {}
  const ms = (initialDelaySeconds + failureThreshold * periodSeconds) * 1000
  const most = await progressMs((await workloadOf(pod, ward)).ref, ward)
  return ms > most ? one : within(one, ward.reader.now, since, ms)
}

/** The kubelet says the reason of a failed pull in the first status, later only that it waits: its Events have it. */
async function pullError(pod: Pod, container: string, message: string, { reader }: Ward): Promise<string> {
  const events = (await eventsOf(reader, pod)).filter(
    ({ involvedObject: about, reason }) =>
      reason === "Failed" && (about.fieldPath === undefined || about.fieldPath.endsWith(`{${container}}`)),
  )
  const event = events.find(({ message: text }) => text?.startsWith("Failed to pull image") === true)
  return event?.message ?? message
}

async function configError(pod: Pod, { name }: Container, message: string, { reader }: Ward): Promise<Finding> {
  const evidence = [`container ${name}: CreateContainerConfigError: ${message}`]
  const volume = /cannot find volume "([^"]+)" to mount/.exec(message)?.[1]
  const claimName = pod.spec.volumes?.find((one) => one.name === volume)?.persistentVolumeClaim?.claimName
  const claim = claimName === undefined ? undefined : await reader.get(CLAIMS, pod.metadata.namespace, claimName)
  if (claim?.spec.volumeMode === "Block")
    return finding(
      "volume-is-block",
      `container ${name} mounts volume ${volume ?? ""} as a file system, and claim ${claimName ?? ""} is a block device (volumeMode Block)`,
      { evidence, hints: ["name it in volumeDevices with a devicePath, or use a claim with volumeMode Filesystem"] },
    )
  if (/runAsNonRoot|non-numeric user|run as root/i.test(message))
    return finding(
      "runs-as-root",
      /non-numeric/.test(message)
        ? `container ${name} must not run as root, and its image names its user by a name, which cannot be checked`
        : `container ${name} must not run as root (runAsNonRoot), and its image does`,
      { evidence, hints: ["set runAsUser to a number that is not 0, or use an image with such a user"] },
    )
  return finding("config-error", `container ${name} cannot be configured: ${message}`, { evidence })
}
