import type { ContainerStatus } from "../../../pkg/cri/container.ts"
import { parseLogLine } from "../runtime/log-line.ts"
import { readNotes } from "../model/labels.ts"
import type { PodFiles } from "../runtime/runtime.ts"

/** Source: pkg/kubelet/container/runtime.go MaxContainerTerminationMessage…. */
const MAX_MESSAGE_BYTES = 4096
const MAX_LOG_BYTES = 2048
const MAX_LOG_LINES = 80
/** Bytes that are read from the end of the log: each line has a head of about 45 bytes. */
const FIRST_WINDOW = MAX_LOG_BYTES + MAX_LOG_LINES * 48
/** Runtimes break lines at 16 KiB: so many bytes have a whole one. */
const LAST_WINDOW = FIRST_WINDOW * 16

type MessageFiles = Pick<PodFiles, "read" | "size">

/**
 * Returns the termination message of a container: from its file, or from the end of its log. Undefined when there is
 * none.
 */
export async function terminationMessage(files: MessageFiles, status: ContainerStatus): Promise<string | undefined> {
  const { messagePath, messagePolicy } = readNotes(status.annotations)
  if (messagePath === "") return undefined
  const path = status.mounts.find(({ containerPath }) => containerPath === messagePath)?.hostPath
  const said = path === undefined ? undefined : await files.read(path, MAX_MESSAGE_BYTES)
  if (said !== undefined && said !== "") return said
  if (messagePolicy !== "FallbackToLogsOnError" || (status.exitCode === 0 && status.reason !== "ContainerCannotRun"))
    return undefined
  return lastOutput(files, status.logPath)
}

/** Returns the last output of a container: of its last 80 lines at most 2048 bytes. Undefined without a log. */
async function lastOutput(files: MessageFiles, path: string): Promise<string | undefined> {
  const size = await files.size(path)
  for (let window = FIRST_WINDOW; ; window *= 4) {
    const log = await files.read(path, window)
    if (log === undefined || size === undefined) return undefined
    const isWhole = size <= window
    // The first line of a part has no head.
    const lines = (isWhole ? log : log.slice(log.indexOf("\n") + 1)).split("\n").flatMap(outputOf).slice(-MAX_LOG_LINES)
    const output = Buffer.concat(lines)
    if (isWhole || output.length >= MAX_LOG_BYTES || lines.length === MAX_LOG_LINES || window >= LAST_WINDOW)
      return output.subarray(-MAX_LOG_BYTES).toString("utf8")
  }
}

/** Returns what the container has written of a line of its log; nothing for a line that no runtime wrote. */
function outputOf(text: string): Buffer[] {
  const bytes = Buffer.from(text)
  const line = parseLogLine(bytes)
  if (line === undefined) return []
  return [Buffer.concat([bytes.subarray(line.start), Buffer.from(line.partial ? "" : "\n")])]
}
