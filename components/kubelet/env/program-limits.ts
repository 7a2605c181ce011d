import { configError, type StartError } from "../model/start-error.ts"
import {
  bytesIn,
  valuesByName,
  type EnvironmentValue,
  type EnvironmentVariable,
} from "../model/environment-variable.ts"
import { expand, ExpansionError } from "./expansion.ts"

/**
 * The longest variable (`NAME=value`) or argument of a program on Linux, in bytes, without the NUL behind it. Source:
 * MAX_ARG_STRLEN of linux/binfmts.h, 32 pages.
 */
export const MAX_ARGUMENT_BYTES = 128 * 1024 - 1
/**
 * How much all arguments and variables of a program may have together, in bytes, whatever the limit of its stack.
 * Source: three quarters of _STK_LIM, in fs/exec.c bprm_stack_limits.
 */
export const MAX_PROGRAM_BYTES = 6 * 1024 * 1024
/** The kernel keeps a pointer to each argument and variable beside its bytes and their NUL. */
const POINTER_BYTES = 8

/** Counts what a program is given, and refuses more than the kernel would pass to any program. */
export class ProgramBudget {
  #left = MAX_PROGRAM_BYTES

  /** @throws StartError CreateContainerConfigError for a variable that no program can get */
  variable(name: string, value: EnvironmentValue): void {
    const bytes = bytesIn(name) + 1 + bytesIn(value)
    if (bytes > MAX_ARGUMENT_BYTES) throw tooLongVariable(name)
    this.#take(bytes)
  }

  /** @throws StartError CreateContainerConfigError for an argument that no program can get */
  argument(text: string): void {
    const bytes = bytesIn(text)
    if (bytes > MAX_ARGUMENT_BYTES) throw tooLongArgument()
    this.#take(bytes)
  }

  #take(bytes: number): void {
    this.#left -= bytes + 1 + POINTER_BYTES
    if (this.#left < 0)
      throw configError(
        `the container's environment variables and arguments have more than ${MAX_PROGRAM_BYTES} bytes, which is ` +
          `the most that Linux gives a program: use fewer, mount them as files, or set enableServiceLinks to false`,
      )
  }
}

export const tooLongVariable = (name: string): StartError =>
  configError(
    `environment variable ${JSON.stringify(name.slice(0, 256))} has more than ${MAX_ARGUMENT_BYTES} bytes, which is ` +
      `the most that Linux gives a program: shorten it, or mount it as a file`,
  )

const tooLongArgument = (): StartError =>
  configError(`an argument of the container has more than ${MAX_ARGUMENT_BYTES} bytes, the most that Linux gives`)

/**
 * Returns command or args with `$(VAR)` replaced. All texts of a container share one budget with its variables.
 * @throws StartError CreateContainerConfigError
 */
export function argumentExpander(
  environment: readonly EnvironmentVariable[],
): (texts: readonly string[]) => readonly string[] {
  let known: ReadonlyMap<string, EnvironmentValue> | undefined
  const valueOf = (name: string) => (known ??= valuesByName(environment)).get(name)
  const budget = new ProgramBudget()
  for (const { key, value } of environment) budget.variable(key, value)
  return (texts) =>
    texts.map((text) => {
      const expanded = expandedText(text, valueOf)
      budget.argument(expanded)
      return expanded
    })
}

function expandedText(text: string, valueOf: (name: string) => EnvironmentValue | undefined): string {
  let expanded: EnvironmentValue
  try {
    expanded = expand(text, valueOf, MAX_ARGUMENT_BYTES)
  } catch (err) {
    throw err instanceof ExpansionError ? tooLongArgument() : err
  }
  // Source: kubernetes/cri-api api.proto: command and args are of the type string, which is UTF-8.
  if (typeof expanded !== "string")
    throw configError(
      "an argument of the container has the value of a variable that is not UTF-8: read it in the program",
    )
  return expanded
}
