import { execFile } from "node:child_process"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"

export interface RunOptions {
  /** Written to the program's standard input. */
  readonly input?: string | Readable
  /** Kills the program when it aborts. */
  readonly signal?: AbortSignal
}

/**
 * Runs a program to its end. Returns what it wrote to its standard output. Texts of users come behind a `--`, or as the
 * value of an option, so that the program never takes one that begins with `-` as an option.
 * @throws Error that names the program, with what it wrote to its standard error, and whose cause has its exit `code`
 * and its `stdout`; or the error of `input`
 */
export async function run(
  program: string,
  args: readonly string[],
  { input = "", signal }: RunOptions = {},
): Promise<string> {
  let feed: Promise<unknown> = Promise.resolve()
  const output = new Promise<string>((resolve, reject) => {
    const child = execFile(
      program,
      args,
      { signal, maxBuffer: 16 * 1024 * 1024, encoding: "utf8" },
      (err, stdout, stderr) => {
        if (err === null) resolve(stdout)
        else {
          const message = `${program} ${args.join(" ")} failed: ${stderr.trim() || err.message}`
          reject(new Error(message, { cause: Object.assign(err, { stdout }) }))
        }
      },
    )
    // A program that ends before it has read all its input closes the pipe (EPIPE); its exit code then gives the
    // reason.
    if (child.stdin)
      feed = pipeline(typeof input === "string" ? Readable.from([input]) : input, child.stdin).catch(
        (err: unknown) => err,
      )
  })
  const [ended, fault] = await Promise.all([Promise.allSettled([output]).then(([ended]) => ended), feed])
  if (fault instanceof Error && !isOfTheProgram(fault)) throw fault
  if (ended.status === "rejected") throw ended.reason
  return ended.value
}

/** Error codes of the pipe into a program that has ended or could not be started: the program's own error says more. */
const PROGRAM_IS_GONE = ["EPIPE", "ERR_STREAM_PREMATURE_CLOSE", "ERR_STREAM_UNABLE_TO_PIPE"]
const isOfTheProgram = (fault: Error): boolean => "code" in fault && PROGRAM_IS_GONE.includes(String(fault.code))
