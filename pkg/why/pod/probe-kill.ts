import type { Container } from "../../api/core/v1/container/container.ts"
import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { ContainerStatus } from "../../api/core/v1/pod/podstatus.ts"
import { parseTime } from "../../apimachinery/scalars/time.ts"
import type { Ward } from "../doctor.ts"
import { eventsOf, seenAt } from "../events.ts"

/** A probe that had a container killed, with its last answer. */
export interface ProbeKill {
  readonly probe: "liveness" | "startup"
  readonly message: string
  /** When that was last said, in milliseconds: Events are left out where there are many. */
  readonly at: number
}

/** Returns which probe had the container killed, if one did. */
export async function killedByProbe(pod: Pod, container: string, { reader }: Ward): Promise<ProbeKill | undefined> {
  const events = (await eventsOf(reader, pod)).filter(
    ({ involvedObject: about }) => about.fieldPath?.endsWith(`{${container}}`) === true,
  )
  const killing = events.find(
    ({ reason, message }) => reason === "Killing" && /failed (?:liveness|startup) probe/i.test(message ?? ""),
  )
  if (killing === undefined) return undefined
  const probe = /startup probe/i.test(killing.message ?? "") ? "startup" : "liveness"
  const unhealthy = events.find(
    ({ reason, message }) => reason === "Unhealthy" && (message ?? "").toLowerCase().startsWith(probe),
  )
  return { probe, message: unhealthy?.message ?? killing.message ?? "", at: seenAt(killing) }
}

/** How much later than the first time that a probe may have it killed a container may end, beside its grace. */
const LATE_MS = 10_000

/**
 * Whether a run that ended with success was ended by a probe: programs may do so when they are told to stop. Either it
 * is said of this run, or it lasted as long as the probe takes.
 */
export function endedByProbe(
  kill: ProbeKill,
  { spec }: Pod,
  container: Container,
  { startedAt, finishedAt }: NonNullable<ContainerStatus["lastState"]["terminated"]>,
): boolean {
  const [from, to] = [parseTime(startedAt ?? ""), parseTime(finishedAt ?? "")]
  if (from === undefined || to === undefined) return false
  if (kill.at > from && kill.at <= to + LATE_MS) return true
  const probe = kill.probe === "startup" ? container.startupProbe : container.livenessProbe
  const { initialDelaySeconds = 0, failureThreshold = 3, periodSeconds = 10, timeoutSeconds = 1 } = probe ?? {}
  const least = (initialDelaySeconds + (failureThreshold - 1) * periodSeconds) * 1000
  const most =
    least + (2 * periodSeconds + timeoutSeconds + (spec.terminationGracePeriodSeconds ?? 30)) * 1000 + LATE_MS
  // A startup probe comes before.
  return kill.at < from && container.startupProbe === undefined && to - from >= least && to - from <= most
}
