import type { ContainerConfig } from "../../../../../pkg/cri/container.ts"
import type { ContainerHandle, ImageBehaviour } from "./behaviour.ts"
import { isInterpreter, runShell, understood } from "./shell.ts"

export type Program = (container: ContainerHandle) => Promise<number | void>

/** What decides which program a container runs. */
interface ProgramRequest extends Pick<ContainerHandle, "command" | "args"> {
  readonly image: string
  readonly behaviour: ImageBehaviour
  readonly config: Pick<ContainerConfig, "tty" | "stdin">
}

/**
 * Returns the program of a container whose image has none: the command, if the small shell understands it; one that
 * ends at once for an interpreter or with an `exitCode`; otherwise undefined, and the container runs on.
 */
export function programOf({ command, args, image, behaviour, config }: ProgramRequest): Program | undefined {
  if (behaviour.ignoresCommand === true) return undefined
  const words = [...command, ...args]
  const commands = words.length === 0 ? undefined : understood(words)
  if (commands !== undefined)
    return (container) =>
      runShell(commands, container, (text, stream) => {
        for (const line of text.replace(/\n$/, "").split("\n")) container.log(line, stream)
      })
  if (behaviour.exitCode !== undefined || (isInterpreter(image) && config.tty !== true && config.stdin !== true))
    return async () => behaviour.exitCode ?? 0
  return undefined
}

/** Returns a container's variables. Values that are not UTF-8 are shown as programs of text would read them. */
export const environmentIn = ({ envs = [] }: Pick<ContainerConfig, "envs">): Readonly<Record<string, string>> =>
  Object.fromEntries(
    envs.map(({ key = "", value = "" }) => [
      key,
      typeof value === "string" ? value : Buffer.from(value).toString("utf8"),
    ]),
  )
