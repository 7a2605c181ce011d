import { readFileSync } from "node:fs"
import { ConfigurationError } from "../../../../pkg/config-file/config-file.ts"
import { readSchedulerSettings } from "../../../scheduler/config/scheduler-settings.ts"
import type { AssemblyOptions } from "../assembly.ts"
import { TestClusterError } from "../caller.ts"
import type { ClusterOptions } from "./options.ts"

/** Returns what the scheduler has beside or instead of its defaults. @throws TestClusterError */
export function schedulingFrom({ schedulerConfig }: ClusterOptions): AssemblyOptions["scheduling"] {
  if (schedulerConfig === undefined) return undefined
  try {
    const { text, file } = textOf(schedulerConfig)
    return { settings: readSchedulerSettings(text, file) }
  } catch (err) {
    if (err instanceof ConfigurationError) throw new TestClusterError(`Cannot use schedulerConfig: ${err.message}`)
    throw err
  }
}

/** YAML has several lines, a path has one. */
function textOf(source: NonNullable<ClusterOptions["schedulerConfig"]>): {
  readonly text: string
  readonly file: string
} {
  if (typeof source !== "string") return { text: JSON.stringify(source, undefined, 2), file: "schedulerConfig" }
  if (source.includes("\n")) return { text: source, file: "schedulerConfig" }
  try {
    return { text: readFileSync(source, "utf8"), file: source }
  } catch (err) {
    throw new TestClusterError(`Cannot read schedulerConfig: ${(err as Error).message}`)
  }
}
