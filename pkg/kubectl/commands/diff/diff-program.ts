import { ExitError, SilentExit } from "../../errors/errors.ts"
import { errorCode } from "../../environment/files.ts"
import type { Invocation } from "../../command/command.ts"

/** The exit code for all that is wrong; 1 says that there are differences. */
export const FAILED = 2

/** The arguments that may stand in the variable. */
const PLAIN_ARGUMENT = /^[a-zA-Z0-9-=]+$/

/**
 * Runs the program that compares two folders: that of the variable KUBECTL_EXTERNAL_DIFF, or `diff`. Source: kubectl
 * pkg/cmd/diff/diff.go DiffProgram.
 * @throws SilentExit when there are differences, ExitError when the program fails
 */
export async function runDiff(
  { environment, out, errOut }: Pick<Invocation, "environment" | "out" | "errOut">,
  from: string,
  to: string,
): Promise<void> {
  const external = environment.variables["KUBECTL_EXTERNAL_DIFF"] ?? ""
  const [command = "", ...more] = external === "" ? ["diff"] : external.split(" ")
  const args = external === "" ? ["-u", "-N", from, to] : [from, to, ...more.filter((arg) => PLAIN_ARGUMENT.test(arg))]
  const failed = (why: string) => new ExitError(`error: failed to run ${JSON.stringify(command)}: ${why}`, FAILED)
  let code: number
  try {
    const result = await environment.programs.run({ command, args, output: "inherit" })
    code = result.code
    await out.write(result.stdout)
    await errOut.write(result.stderr)
  } catch (err) {
    if (errorCode(err) !== "ENOENT") throw err
    throw failed("executable file not found in $PATH")
  }
  if (code === 1) throw new SilentExit(1)
  if (code !== 0) throw failed(`exit status ${code}`)
}
