import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import { readRecording } from "../../../../pkg/replay/recording-reader.ts"
import { TestClusterError } from "../caller.ts"
import type { ClusterOptions } from "../options/options.ts"
import { checkOptionNames } from "../options/option-names.ts"
import { bytesOf, type ReplayInput, type ReplayOption } from "./replay-input.ts"
import { loadReplay } from "./loaded-replay.ts"
import { replayMaker } from "./make-replay.ts"
import type { ReplayMaker } from "./running-replay.ts"

/** Reads the recording that a cluster plays. @throws TestClusterError when it cannot be read, or with other options */
export async function replayFrom(options: ClusterOptions, option: ReplayInput | ReplayOption): Promise<ReplayMaker> {
  for (const name of ["snapshot", "servers", "startTime"] as const)
    if (options[name] !== undefined)
      throw new TestClusterError(`Cannot start a cluster with replay and ${name}: leave one of them out`)
  if (options.clock === "real") throw new TestClusterError('Cannot replay on the real clock: leave out clock: "real"')
  const isWhole = typeof option === "object" && !(option instanceof URL) && !(option instanceof Uint8Array)
  if (isWhole) checkOptionNames("replay has no option", option, REPLAY)
  const { file, instead = [], tolerance }: ReplayOption = isWhole ? option : { file: option }
  try {
    return replayMaker(loadReplay(await readRecording(await bytesOf(file)), { instead, tolerance }))
  } catch (cause) {
    if (cause instanceof TestClusterError) throw cause
    const name = typeof file === "string" || file instanceof URL ? ` ${String(file)}` : ""
    throw new TestClusterError(`Cannot replay the recording${name}: ${errorMessage(cause)}`, { cause })
  }
}

const REPLAY: { readonly [name in keyof Required<ReplayOption>]: true } = { file: true, instead: true, tolerance: true }
