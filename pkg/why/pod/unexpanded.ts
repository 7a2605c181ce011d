import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { finding, type Finding } from "../answer.ts"
import { containerOf } from "./container-of.ts"

/** A variable as it is written in command and args: `$(NAME)`, and as only a shell takes it: `$NAME`, `${NAME}`. */
const VARIABLE = /\$\(([A-Za-z_]\w*)\)|\$\{?([A-Za-z_]\w*)\}?/g

/** So many variables of a line are looked for: it may have thousands, and the arguments may be as long as an object. */
const MOST_VARIABLES = 10

const SHELL = /(?:^|\/)(?:ba|da|a|z|k)?sh$/

/**
 * Returns that a program got the name of a variable where its value was meant, because nobody has put it in; undefined
 * where the line has no variable that stands in the arguments of the container.
 */
export function unexpandedFinding(pod: Pod, name: string, line: string): Finding | undefined {
  const container = containerOf(pod, name)
  const { command = [], args = [], env = [] } = container ?? {}
  // A shell puts in what it knows; what it prints of the rest is its own script.
  if (command.some((word) => SHELL.test(word))) return undefined
  for (const [text, parens, plain = ""] of line.matchAll(VARIABLE).take(MOST_VARIABLES)) {
    if (![...command, ...args].some((word) => word.includes(text))) continue
    const variable = parens ?? plain
    const isSet = env.some((one) => one.name === variable)
    return finding(
      "variable-not-expanded",
      `the program of container ${name} gets ${text} as it is written in its arguments: ` +
        (parens === undefined
          ? `only $(${variable}) is replaced by the value of a variable, unless a shell runs the command`
          : `the container has no variable ${variable}${isSet ? " that stands before it" : ""}, whose value would replace it`),
      {
        evidence: [`log of ${name}: ${line.trim()}`],
        hints: [
          parens === undefined
            ? `write $(${variable}) in args, or run the command by a shell: command: [sh, -c, …]`
            : `add ${variable} to env of the container`,
        ],
      },
    )
  }
  return undefined
}
