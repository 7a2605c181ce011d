import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { finding, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { dnsBlockedFinding } from "../network/dns-blocked.ts"
import { nameFinding } from "../network/names.ts"
import { connectionFinding } from "../network/connection.ts"
import { isOwnAddress, ownAddressFinding } from "../network/own-address.ts"
import { rightFinding } from "../policy/rights.ts"
import { missingFileFinding } from "./missing-file.ts"
import { missingKindFinding } from "./missing-kind.ts"
import { missingVariableFinding } from "./missing-variable.ts"
import { unreachedIn, unresolvedName } from "./host-words.ts"
import { leaseFinding } from "./leader.ts"
import { ownFinding } from "./own-words.ts"
import { serviceVariableFinding } from "./service-variables.ts"
import { unexpandedFinding } from "./unexpanded.ts"

/** A DNS server that does not answer: not the name is wrong. */
const SILENT_DNS =
  /lookup ([\w.-]+)[^\n]*:53: [^\n]*(?:i\/o timeout|timed? ?out)|EAI_AGAIN ([\w.-]+)|(?<![\w.-])([\w.-]+): temporary failure in name resolution|resolv[^\n]{0,40}timed? ?out/i

/** Returns what the last lines of a container's log say about the cluster. */
export async function logClues(
  pod: Pod,
  container: string,
  lines: readonly string[],
  ward: Ward,
): Promise<readonly Finding[]> {
  // The last thing that a program says before it ends is what ended it.
  for (let at = lines.length - 1; at >= 0; at--) {
    const line = lines[at]!
    const later = lines.slice(at + 1).filter((one) => !isContinuation(one))
    const found = await clusterClues(pod, container, line, ward)
    if (found.length > 0) return later.length === 0 ? found : found.map((one) => unsure(one))
    // What a program says of itself cannot be checked, so that it counts less than a failure after it.
    const own = later.some((one) => FAILURE.test(one)) ? undefined : ownFinding(pod, container, line)
    if (own !== undefined) return [later.length === 0 ? own : unsure(own)]
  }
  return []
}

/** Words of lines that tell of a failure. */
const FAILURE = /fatal|panic|error|exception|fail|cannot|can't|unable|abort/i

/** Whether a line goes on with what the one before it says: a stack, the end of a dump, a shell's exit code. */
const isContinuation = (line: string): boolean =>
  /^(?:\s|at |Caused by|\.\.\. \d+ more|[)\]}]|goroutine \d|created by |exit status|Node\.js v|npm |Traceback)/.test(
    line,
  ) ||
  // How a program is to be called.
  /^(?:[Uu]sage\b|Try '|For more information)/.test(line) ||
  line.trim() === "" ||
  // Bash says what failed, and then that nothing did.
  line.endsWith(": Success") ||
  (line.endsWith(")") && /^[\w./*]+\(/.test(line))

/** Something else was said after it, which may have ended the program. A mend that may not help is a hint. */
const unsure = (one: Finding): Finding => ({
  ...one,
  cause: { ...one.cause, sure: false },
  mends: [],
  hints: [...one.hints, ...one.mends.map(({ command, says }) => `${command} ${says}`)],
})

/** Returns what a line of a log says about the cluster, as far as the cluster bears it out. */
async function clusterClues(pod: Pod, container: string, line: string, ward: Ward): Promise<readonly Finding[]> {
  const lacks =
    (await rightFinding(pod, line, ward)) ??
    (await missingKindFinding(container, line, ward)) ??
    (await missingVariableFinding(pod, container, line, ward)) ??
    (await missingFileFinding(pod, container, line, ward)) ??
    (await serviceVariableFinding(pod, container, line, ward)) ??
    unexpandedFinding(pod, container, line) ??
    (await leaseFinding(pod, container, line, ward))
  if (lacks !== undefined) return [lacks]
  const silent = SILENT_DNS.exec(line)
  const blocked = silent === null ? undefined : await dnsBlockedFinding(pod, line, ward)
  if (blocked !== undefined) return [blocked]
  const unresolved = unresolvedName(line)
  const nameless = unresolved === "" ? [namelessFinding(container, line)] : []
  const name = unresolved === undefined || unresolved === "" ? undefined : unresolved
  const unknown =
    name === undefined
      ? undefined
      : await nameFinding(pod, withoutSearch(name, pod.metadata.namespace ?? ""), line, ward)
  if (unknown !== undefined) return [unknown]
  for (const connection of unreachedIn(line)) {
    const found = isOwnAddress(connection.host)
      ? await ownAddressFinding(pod, container, connection, line, ward)
      : await connectionFinding(pod, connection, line, ward)
    if (found.length > 0) return found
  }
  return nameless
}

/** The C library does not tell the name, nor do many programs that pass on its words. */
const namelessFinding = (container: string, line: string): Finding =>
  finding(
    "name-not-found",
    `a name that the program of container ${container} asks for does not resolve; it does not tell which`,
    {
      evidence: [`log: ${line.trim()}`],
      hints: ["compare the names in its variables and files with kubectl get services -A"],
    },
  )

/** Returns a name without what the resolver has added to it from its search list. */
const withoutSearch = (name: string, namespace: string): string =>
  [`.${namespace}.svc.cluster.local`, ".svc.cluster.local", ".cluster.local"].reduce(
    (text, suffix) =>
      text.endsWith(suffix) && !text.slice(0, -suffix.length).includes(".") ? text.slice(0, -suffix.length) : text,
    name,
  )
