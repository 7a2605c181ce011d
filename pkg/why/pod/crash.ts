import type { Container } from "../../api/core/v1/container/container.ts"
import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { ContainerStatus } from "../../api/core/v1/pod/podstatus.ts"
import { humanDuration, parseTime } from "../../apimachinery/scalars/time.ts"
import { finding, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { eventLine, eventsOf, seenAt } from "../events.ts"
import { refOf } from "../reading/kinds.ts"
import { workloadOf, wordsOf } from "../workload.ts"
import { errorLine } from "./error-line.ts"
import { logClues } from "./log-clues.ts"
import { probeFinding } from "./probe.ts"
import { endedByProbe, killedByProbe } from "./probe-kill.ts"
import { startFinding } from "./start.ts"
import { command } from "../command.ts"

const SIGNALS: Readonly<Record<number, string>> = {
  129: "SIGHUP",
  130: "SIGINT",
  131: "SIGQUIT",
  132: "SIGILL",
  134: "SIGABRT",
  135: "SIGBUS",
  136: "SIGFPE",
  137: "SIGKILL",
  139: "SIGSEGV",
  141: "SIGPIPE",
  143: "SIGTERM",
}

type Ended = NonNullable<ContainerStatus["lastState"]["terminated"]>

/** How many lines of a log are shown. */
const LINES = 5
/** How many lines of a log are searched for the error: a stack may be long. */
const SEARCHED = 100
/** How many lines are searched for what they say of others: what a program said long before it ended did not end it. */
const RECENT = 20

/** Returns why a container ended; the first is the cause. `container` is its part of the pod's spec. */
export async function crashFindings(
  pod: Pod,
  container: Container,
  status: ContainerStatus,
  ended: Ended,
  ward: Ward,
): Promise<readonly Finding[]> {
  const { name } = container
  const { exitCode = 0, reason = "", message = "" } = ended
  const starts = (status.restartCount ?? 0) + 1
  const isPrevious = status.state?.running !== undefined
  const log = await logOf(pod, name, isPrevious, ward)
  const told = errorLine(log)
  const shown = log.slice(-LINES)
  const lines = (told === undefined || shown.includes(told) ? shown : [told, ...shown]).map(
    (line) => `log of ${name}: ${line}`,
  )
  const lasted = lastedFor(ended)
  const evidence = [
    `container ${name} ended with exit code ${exitCode}${SIGNALS[exitCode] === undefined ? "" : ` (${SIGNALS[exitCode]})`}` +
      `${reason === "" ? "" : `, reason ${reason}`}${lasted === "" ? "" : `, after ${lasted}`}` +
      `${starts > 1 ? `; it was started ${starts} times` : ""}`,
    ...(message === "" ? [] : [`its last words: ${message.trim()}`]),
    ...lines,
  ]
  const workload = await workloadOf(pod, ward)
  if (reason === "OOMKilled") {
    const limit = container.resources?.limits?.["memory"] ?? pod.spec.resources?.limits?.["memory"]
    return [
      finding(
        "oom-killed",
        limit === undefined
          ? `container ${name} was killed because the node ran out of memory; it has no limit of its own`
          : `container ${name} was killed because it used more than ${container.resources?.limits?.["memory"] === undefined ? "the memory limit of its pod," : "its memory limit of"} ${limit}`,
        {
          evidence,
          hints: [
            `${workload.ref.kind === "Pod" ? "create the pod again with a higher limit" : `${command`kubectl set resources ${wordsOf(workload.ref)} -c ${name} --limits=memory=MORE`} raises the limit`}; or make the program use less`,
          ],
        },
      ),
    ]
  }
  const hook = await failedHook(pod, name, exitCode, ended, ward)
  if (hook !== undefined)
    return [
      finding("hook-failed", `container ${name} is ended, because its postStart hook fails: ${hookWords(container)}`, {
        evidence: [hook.line, ...evidence],
        sure: hook.sure,
      }),
    ]
  const liveness = await killedByProbe(pod, name, ward)
  // Events may be left out where there are many, so that signals count at any time; other ends may be an earlier run's.
  const isOfThisRun = liveness !== undefined && liveness.at >= (parseTime(ended.startedAt ?? "") ?? 0) - 1000
  const endsWithIt = liveness !== undefined && exitCode === 0 && endedByProbe(liveness, pod, container, ended)
  if (liveness !== undefined && (exitCode === 137 || exitCode === 143 || (isPrevious && isOfThisRun) || endsWithIt))
    return [await probeFinding(pod, container, liveness.probe, liveness.message, ward, evidence)]
  const start = await startFinding(pod, container, ended, evidence, ward)
  if (start !== undefined) return [start]
  const recent = log.slice(-RECENT)
  const heard = told === undefined || recent.includes(told) ? recent : [told]
  const clues = await logClues(pod, name, [...heard, ...message.split("\n")], ward)
  if (clues.length > 0)
    return clues.map((clue) => ({
      ...clue,
      // The line that says it is among the last lines too.
      cause: { ...clue.cause, evidence: [...clue.cause.evidence.filter((line) => !/^log\b/.test(line)), ...evidence] },
    }))
  if (exitCode === 0)
    return [
      finding(
        "command-ends",
        `the command of container ${name} ends with success, and ${pod.spec.restartPolicy ?? "Always"} restarts it` +
          `: a container must run as long as its pod`,
        {
          evidence,
          hints: ["give it a command that goes on running; work that ends belongs into a Job"],
        },
      ),
    ]
  if (exitCode === 127 || exitCode === 126)
    return [
      finding(
        exitCode === 127 ? "command-not-found" : "command-not-executable",
        `container ${name} ended with exit code ${exitCode}: ${exitCode === 127 ? `${absentCommand(log)} does not exist in the image` : "a command that it runs may not be executed"}`,
        { evidence },
      ),
    ]
  const signal = SIGNALS[exitCode]
  if (exitCode === 137)
    return [
      finding(
        "killed",
        `container ${name} was killed (SIGKILL), perhaps by itself, by the kernel, or because it did not stop in time`,
        { evidence, sure: false },
      ),
    ]
  return [
    finding(
      signal === undefined ? "exits-with-error" : "ended-by-signal",
      signal === undefined
        ? `the program of container ${name} ends with exit code ${exitCode}${told === undefined ? "" : `; ${told === log.at(-1) ? "its last line" : "its log says"}: ${told.trim()}`}`
        : `the program of container ${name} was ended by ${signal}${signal === "SIGSEGV" ? ", an access to memory that it does not have" : ""}`,
      {
        evidence,
        hints: [
          `${command`kubectl logs ${refOf(pod).name} -n ${pod.metadata.namespace ?? ""} -c ${name}${isPrevious ? command` --previous` : []}`} shows more`,
        ],
      },
    ),
  ]
}

/** Names the command that a shell did not find, by its words: `sh: 1: next: not found`. */
function absentCommand(log: readonly string[]): string {
  const name = log
    .map((line) =>
      /^[^\s:]+: (?:line )?\d+: ([^\s:]+): (?:command )?not found$|^[^\s:]*sh: ([^\s:]+): (?:command )?not found$/.exec(
        line,
      ),
    )
    .findLast((match) => match !== null)
  return name === undefined || name === null ? "a command that it runs" : `${name[1] ?? name[2]!}, which it runs,`
}

const lastedFor = ({ startedAt, finishedAt }: Ended): string => {
  const [from, to] = [parseTime(startedAt ?? ""), parseTime(finishedAt ?? "")]
  return from === undefined || to === undefined ? "" : humanDuration(to - from)
}

/** The log of the run that ended; the last one where the log of an earlier one is gone. */
async function logOf(pod: Pod, name: string, previous: boolean, { reader }: Ward): Promise<readonly string[]> {
  const ref = refOf(pod)
  const first = await reader.log(ref, name, { previous, lines: SEARCHED })
  return first.length > 0 ? first : await reader.log(ref, name, { previous: !previous, lines: SEARCHED })
}

/** Returns the Event of a postStart hook whose failure ended a run of a container. */
async function failedHook(
  pod: Pod,
  container: string,
  exitCode: number,
  { startedAt }: Ended,
  { reader }: Ward,
): Promise<{ readonly line: string; readonly sure: boolean } | undefined> {
  // The program is stopped by a signal, on which it may end with success.
  if (![0, 137, 143].includes(exitCode)) return undefined
  const event = (await eventsOf(reader, pod)).find(
    ({ reason, involvedObject: about }) =>
      reason === "FailedPostStartHook" && about.fieldPath?.endsWith(`{${container}}`) === true,
  )
  if (event === undefined) return undefined
  // Events are left out where there are many: one of an earlier run tells of the same hook.
  const isOfThisRun = seenAt(event) >= (parseTime(startedAt ?? "") ?? 0) - 1000
  return { line: eventLine(event), sure: isOfThisRun || exitCode !== 0 }
}

function hookWords({ lifecycle }: Container): string {
  const { exec, httpGet } = lifecycle?.postStart ?? {}
  if (exec !== undefined) return (exec.command ?? []).join(" ")
  return httpGet === undefined ? "see what it does" : `GET ${httpGet.path ?? "/"} at port ${httpGet.port}`
}
