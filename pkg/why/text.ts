import { nameOf, stateOf, type Answer, type Finding, type Mend } from "./answer.ts"
import type { Group, Overview } from "./cluster.ts"
import { pushAll } from "../lists/push-all.ts"
import { printed } from "../terminal/printed.ts"
import { trialText } from "./trials.ts"
import { wordsOf } from "./workload.ts"
import { command } from "./command.ts"

/** How many lines of evidence are shown of each cause. */
const EVIDENCE = 12

/** Returns an answer as text, for a terminal. */
export function answerText(answer: Answer): string {
  const { object, summary, findings, unknown } = answer
  const real = findings.filter(({ weight }) => weight !== "note")
  const [first, ...others] = real
  const lines: string[] = []
  if (first === undefined) {
    lines.push(
      stateOf(answer) === "healthy"
        ? `${nameOf(object)} is well: ${summary}`
        : `${nameOf(object)} ${summary}, and why is not known`,
    )
  } else {
    pushAll(lines, findingText(first))
    const also = others.filter(({ cause }) => cause.message !== first.cause.message)
    if (also.length > 0) pushAll(lines, ["", "Also:", ...also.map((one) => `  ${at(one)}${one.cause.message}`)])
  }
  for (const { cause, hints } of findings.filter(({ weight }) => weight === "note"))
    pushAll(lines, ["", `Note: ${cause.message}`, ...hints.map((hint) => `  ${hint}`)])
  if (unknown.length > 0) pushAll(lines, ["", "Not known:", ...unknown.map((line) => `  ${line}`)])
  return printed(lines)
}

/** How many objects are named of each cause. */
const OBJECTS = 5

/** Returns what is unwell in a cluster as text. */
export function overviewText({ state, examined, groups, underWay, unknown }: Overview): string {
  const lines: string[] = []
  if (state === "healthy") lines.push(`All is well: ${examined} objects were looked at`)
  else if (state === "under-way") lines.push(`Nothing is wrong: ${examined} objects were looked at`)
  else if (groups.length > 0)
    lines.push(`${groups.length === 1 ? "One cause" : `${groups.length} causes`} of what is unwell, the worst first:`)
  for (const [index, { cause, objects, chain, mends, hints }] of groups.entries()) {
    const names = objects.slice(0, OBJECTS).map(nameOf)
    if (objects.length > OBJECTS) names.push(`${objects.length - OBJECTS} more`)
    const end = chain.at(-1)?.object
    const on =
      end === undefined || objects.some((one) => nameOf(one) === nameOf(end)) ? "" : ` (seen on ${nameOf(end)})`
    lines.push("", `${index + 1}. ${perhaps(cause)}${cause.message} (${cause.code})`, `   ${names.join(", ")}${on}`)
    pushAll(
      lines,
      mends.slice(0, 1).map(({ command }) => `   mend: ${command}`),
    )
    if (mends.length === 0)
      pushAll(
        lines,
        hints.slice(0, 1).map((hint) => `   hint: ${hint}`),
      )
  }
  if (underWay.length > 0) {
    const names = ({ objects }: Group) =>
      objects.length > 1 ? `${nameOf(objects[0]!)} and ${objects.length - 1} more` : nameOf(objects[0]!)
    pushAll(lines, ["", "Under way:", ...underWay.map((one) => `  ${names(one)}: ${one.cause.message}`)])
  }
  if (groups.length > 0) {
    const [first] = groups[0]!.objects
    lines.push("", `More about one of them: ${command`k3ts why ${wordsOf(first!)}`}`)
  }
  if (unknown.length > 0) pushAll(lines, ["", "Not known:", ...unknown.map((line) => `  ${line}`)])
  return printed(lines)
}

const perhaps = ({ sure, message }: Finding["cause"]): string => (sure || /perhaps/i.test(message) ? "" : "perhaps ")

const at = ({ chain }: Finding): string => {
  const last = chain.at(-1)
  return last === undefined ? "" : `${nameOf(last.object)}: `
}

const mendLines = ({ command, says, tried }: Mend): readonly string[] => [
  `  ${command}`,
  `      ${says}`,
  ...(tried === undefined ? [] : [`      ${trialText(tried)}`]),
]

/** Until when nothing is wrong. */
const untilLines = ({ weight, since = "", until }: Finding): readonly string[] =>
  weight === "under-way" && until !== undefined ? [`  since ${since}; nothing is wrong until ${until}`] : []

/** The chain, one object a line and each further in, then the cause and what follows. */
export function findingText(finding: Finding): readonly string[] {
  const { weight, chain, cause, mends, hints } = finding
  const lines = chain.map(
    ({ object, says }, depth) => `${"  ".repeat(depth)}${depth === 0 ? "" : "└ "}${nameOf(object)} ${says}`,
  )
  const title = weight === "under-way" ? "Under way" : "Cause"
  lines.push("", `${title}: ${perhaps(cause)}${cause.message} (${cause.code})`)
  pushAll(lines, untilLines(finding))
  pushAll(
    lines,
    cause.evidence.slice(0, EVIDENCE).map((line) => `  ${line}`),
  )
  if (mends.length > 0) pushAll(lines, ["", "Mend:", ...mends.flatMap(mendLines)])
  if (hints.length > 0) pushAll(lines, ["", "Hints:", ...hints.map((line) => `  ${line}`)])
  return lines
}
