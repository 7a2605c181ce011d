import { nameOf, stateOf, type Answer, type Finding } from "./answer.ts"
import { pushAll } from "../lists/push-all.ts"

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
  return `${lines.join("\n")}\n`
}

const at = ({ chain }: Finding): string => {
  const last = chain.at(-1)
  return last === undefined ? "" : `${nameOf(last.object)}: `
}

/** The chain, one object a line and each further in, then the cause and what follows. */
export function findingText({ chain, cause, mends, hints }: Finding): readonly string[] {
  const lines = chain.map(
    ({ object, says }, depth) => `${"  ".repeat(depth)}${depth === 0 ? "" : "└ "}${nameOf(object)} ${says}`,
  )
  lines.push(
    "",
    `Cause: ${cause.sure || /perhaps/i.test(cause.message) ? "" : "perhaps "}${cause.message} (${cause.code})`,
  )
  pushAll(
    lines,
    cause.evidence.slice(0, EVIDENCE).map((line) => `  ${line}`),
  )
  if (mends.length > 0)
    pushAll(lines, ["", "Mend:", ...mends.flatMap(({ command, says }) => [`  ${command}`, `      ${says}`])])
  if (hints.length > 0) pushAll(lines, ["", "Hints:", ...hints.map((line) => `  ${line}`)])
  return lines
}
