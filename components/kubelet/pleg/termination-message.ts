import type { ContainerStatus } from "../../../pkg/cri/container.ts"
import { parseLogLine } from "../runtime/log-line.ts"
import { readNotes } from "../model/labels.ts"
import type { PodFiles } from "../runtime/runtime.ts"

/** Source: pkg/kubelet/container/runtime.go MaxContainerTerminationMessage…. */
const MAX_MESSAGE_BYTES = 4096
const MAX_LOG_BYTES = 2048
const MAX_LOG_LINES = 80

/**
 * Returns the termination message of a container: from its file, or from the end of its log. Undefined when there is
 * none.
 */
export async function terminationMessage(files: PodFiles, status: ContainerStatus): Promise<string | undefined> {
  const { messagePath, messagePolicy } = readNotes(status.annotations)
  if (messagePath === "") return undefined
  const path = status.mounts.find(({ containerPath }) => containerPath === messagePath)?.hostPath
  const said = path === undefined ? undefined : await files.read(path, MAX_MESSAGE_BYTES)
  if (said !== undefined && said !== "") return said
  if (messagePolicy !== "FallbackToLogsOnError" || (status.exitCode === 0 && status.reason !== "ContainerCannotRun"))
    return undefined
  // Each line of the log has a head of about 45 bytes.
  const log = await files.read(status.logPath, MAX_LOG_BYTES + MAX_LOG_LINES * 48)
  if (log === undefined) return undefined
  const lines = log
    .split("\n")
    .map((text) => Buffer.from(text))
    .flatMap((bytes) => {
      const line = parseLogLine(bytes)
      return line === undefined ? [] : `${bytes.toString("utf8", line.start)}${line.partial ? "" : "\n"}`
    })
    .slice(-MAX_LOG_LINES)
  return Buffer.from(lines.join("")).subarray(-MAX_LOG_BYTES).toString("utf8")
}
