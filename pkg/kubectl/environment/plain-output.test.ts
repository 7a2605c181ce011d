import { afterEach, beforeEach, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/**
 * Writes a large text in parts that nobody waits for, and says on the other output whether the last was an error. It
 * writes to the file `full` when the runtime's stream is asked for.
 */
const program = (before: string) => `
  import { hostOutput } from ${JSON.stringify(join(import.meta.dirname, "host-streams.ts"))}
  ${before}
  import { writeFileSync } from "node:fs"
  const stream = () => {
    writeFileSync("full", "\\n")
    return process.stdout
  }
  const output = hostOutput(1, stream, "/dev/stdout")
  const parts = Array.from({ length: 40 }, (_, index) => \`\${index}:\${"x".repeat(10_000)}\\n\`)
  const written = await Promise.allSettled(parts.map((part) => output.write(part)))
  const last = written.at(-1)
  console.error(last.status === "fulfilled" ? "written" : last.reason.name)
  process.exit(0)
`
const WHOLE = Array.from({ length: 40 }, (_, index) => `${index}:${"x".repeat(10_000)}\n`).join("")

/** Lets no write wait for the reader, as a parent may that has the other end of a socket or a pipe. */
const NO_WAITING = `
  import { dlopen } from "bun:ffi"
  const libc = dlopen("libc.so.6", { fcntl: { args: ["i32", "i32", "i32"], returns: "i32" } })
  const [F_SETFL, O_WRONLY, O_NONBLOCK] = [4, 1, 0o4000]
  if (libc.symbols.fcntl(1, F_SETFL, O_WRONLY | O_NONBLOCK) !== 0) throw new Error("fcntl")
`

/** In milliseconds, for a process that starts on a busy machine. */
const LONGEST_MS = 60_000

const run = (before: string, reader: string) =>
  spawnSync("bash", ["-c", `mkfifo full; "${process.execPath}" -e "$PROGRAM" ${reader}`], {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, PROGRAM: program(before) },
  })

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "k3ts-output-"))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test.each([
  ["a file", "", "> out"],
  ["a pipe", "", "| cat > out"],
  ["a pipe that does not wait for its reader", NO_WAITING, "| (read -r _ < full; cat > out)"],
])(
  "%s gets all that is written, in its order",
  (_name, before, reader) => {
    // when
    const { stderr } = run(before, reader)
    // then
    expect(stderr).toBe("written\n")
    expect(readFileSync(join(folder, "out"), "utf8") === WHOLE).toBe(true)
  },
  LONGEST_MS,
)

test(
  "a pipe whose reader has gone is an error of its own",
  () => {
    expect(run("", "| true").stderr).toBe("BrokenPipe\n")
  },
  LONGEST_MS,
)
