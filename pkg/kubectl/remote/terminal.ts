import type { Environment, OutputStream } from "../environment/environment.ts"
import type { Output } from "../printers/output.ts"

/** Which streams a session has, after a look at the terminal. Source: kubectl pkg/cmd/exec/exec.go (SetupTTY). */
export interface SessionTerminal {
  readonly stdin: AsyncIterable<Uint8Array> | undefined
  /** The terminal, where keys are sent as they come; undefined without one. */
  readonly terminal: OutputStream | undefined
}

/** Tells where a terminal is asked for and the input is none. */
export async function setUpTerminal(
  { stdin, stdout }: Pick<Environment, "stdin" | "stdout">,
  { interactive, tty, quiet }: { readonly interactive: boolean; readonly tty: boolean; readonly quiet: boolean },
  errOut: Output,
): Promise<SessionTerminal> {
  if (!interactive) return { stdin: undefined, terminal: undefined }
  if (!tty) return { stdin, terminal: undefined }
  if (stdin.isTerminal) return { stdin, terminal: stdout }
  if (!quiet) await errOut.write("Unable to use a TTY - input is not a terminal or the right kind of file\n")
  return { stdin, terminal: undefined }
}
