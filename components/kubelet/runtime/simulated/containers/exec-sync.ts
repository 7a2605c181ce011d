import type { Clock } from "../../../../../pkg/clock/clock.ts"
import { CriError } from "../../../../../pkg/cri/errors.ts"
import { withTimeout } from "../machine/network.ts"
import type { SimulatedContainer } from "./container.ts"

const LATE = "the command took too long"

/**
 * Runs a command in a container; 0 seconds for no limit.
 * @throws CriError when the command takes longer
 */
export async function execSync(
  container: SimulatedContainer,
  command: readonly string[],
  timeoutSeconds: number,
  clock: Clock,
) {
  const { exec, ignoresCommand } = container.behaviour
  if (exec === undefined && ignoresCommand === true)
    return { exitCode: 0, stdout: new Uint8Array(), stderr: new Uint8Array() }
  if (timeoutSeconds === 0) return container.exec(command)
  return withTimeout(clock, container.exec(command), timeoutSeconds * 1000, LATE).catch((err: unknown) => {
    throw err instanceof Error && err.message === LATE
      ? new CriError("DeadlineExceeded", "ExecSync", `command ${command.join(" ")} timed out after ${timeoutSeconds}s`)
      : err
  })
}
