/**
 * How a remote command ended: the metav1.Status on the error channel. Sources:
 * k8s.io/apimachinery/pkg/util/remotecommand (NonZeroExitCode), k8s.io/kubelet/pkg/cri/streaming/remotecommand/exec.go,
 * client-go tools/remotecommand/v4.go (how clients read it).
 */

export interface CommandStatus {
  readonly status: "Success" | "Failure"
  readonly metadata?: object
  readonly message?: string
  readonly reason?: string
  readonly details?: {
    readonly causes?: readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[]
  }
  readonly code?: number
}

export const SUCCESS: CommandStatus = { metadata: {}, status: "Success" }

/** Returns the status of a command that ran and ended with `exitCode`. */
export function exitCodeStatus(exitCode: number): CommandStatus {
  if (exitCode === 0) return SUCCESS
  return {
    metadata: {},
    status: "Failure",
    message: `command terminated with non-zero exit code: exit status ${exitCode}`,
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: "ExitCode", message: String(exitCode) }] },
  }
}

/** Returns the status of a command that could not be run, or whose end is unknown. */
export function failureStatus(message: string): CommandStatus {
  return {
    metadata: {},
    status: "Failure",
    message: `Internal error occurred: ${message}`,
    reason: "InternalError",
    details: { causes: [{ message }] },
    code: 500,
  }
}

/** Returns the exit code in a status; undefined when the command did not exit. */
export function exitCodeOf({ status, reason, details }: CommandStatus): number | undefined {
  if (status === "Success") return 0
  if (reason !== "NonZeroExitCode") return undefined
  const code = Number(details?.causes?.find((cause) => cause.reason === "ExitCode")?.message)
  return Number.isInteger(code) ? code : undefined
}

/** Returns the text for the error channel: JSON from version 4 on; before, only the message of a failure. */
export function encodeStatus(status: CommandStatus, version: number): string {
  if (version >= 4) return JSON.stringify(status)
  return status.status === "Success" ? "" : (status.message ?? "command failed")
}

/**
 * Returns the status in the text of an error channel. An empty channel is success before version 4; from 4 on it means
 * that the connection broke.
 */
export function decodeStatus(text: string, version: number): CommandStatus {
  if (version < 4) return text === "" ? SUCCESS : failureStatus(text)
  if (text === "") return failureStatus("the connection to the container was lost before the command ended")
  try {
    const value = JSON.parse(text) as CommandStatus
    if (value.status === "Success" || value.status === "Failure") return value
  } catch {
    // not JSON, so the text itself is the message
  }
  return failureStatus(text)
}
