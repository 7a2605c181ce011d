import { readFileSync } from "node:fs"
import type { SchedulerConfig } from "../../../components/scheduler/scheduler.ts"
import { fileError } from "../../../pkg/files/files.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { value, type FlagsOf } from "../cli/flags.ts"
import { UsageError } from "../cli/usage-error.ts"
import * as v from "../cli/values.ts"

/** The flags of the scheduler. Source: kube-scheduler's `--config`. */
export const schedulerFlags = {
  "scheduler-config": value(
    v.filePath.optional(),
    "File with a KubeSchedulerConfiguration: several schedulers, their plugins, and extenders",
    { placeholder: "FILE", path: true },
  ),
} as const
export type SchedulerFlags = FlagsOf<typeof schedulerFlags>

/**
 * Reads what the flags name; undefined for a scheduler by default, which loads none of the code for that.
 * @throws UsageError with file, line, field and mend
 */
export async function schedulerOf(flags: SchedulerFlags): Promise<Omit<SchedulerConfig, "observer"> | undefined> {
  const file = flags["scheduler-config"]
  if (file === undefined) return undefined
  const { readSchedulerSettings } = await import("../../../components/scheduler/config/scheduler-settings.ts")
  let text: string
  try {
    text = readFileSync(file, "utf8")
  } catch (err) {
    throw fileError("read", file, err)
  }
  try {
    return { settings: readSchedulerSettings(text, file) }
  } catch (err) {
    throw new UsageError(`--scheduler-config cannot be used:\n${errorMessage(err)}`)
  }
}
