/** What one run of a program took. */
export interface Cost {
  /** Processor time, of the program and of the system for it. */
  readonly cpuMs: number
  /** Peak resident memory. */
  readonly megabytes: number
}

const AS_PROGRAM = "K3TS_BENCH_COST"

/**
 * Runs a program whose output nobody reads. It is started by a small process: a peak of memory begins with that of the
 * process that starts the program.
 * @throws Error with what it says when it fails
 */
export async function costOf(command: readonly string[], variables: Readonly<Record<string, string>>): Promise<Cost> {
  const child = Bun.spawn([process.execPath, import.meta.path, ...command], {
    env: { PATH: process.env["PATH"] ?? "", ...variables, [AS_PROGRAM]: "1" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  })
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")} failed: ${errors}`)
  return JSON.parse(output) as Cost
}

if (process.env[AS_PROGRAM] !== undefined) {
  const { [AS_PROGRAM]: _, ...env } = process.env
  const { exitCode, resourceUsage } = Bun.spawnSync(process.argv.slice(2), {
    env,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "inherit",
  })
  const cost: Cost = { cpuMs: Number(resourceUsage.cpuTime.total) / 1000, megabytes: resourceUsage.maxRSS / 2 ** 20 }
  console.log(JSON.stringify(cost))
  process.exitCode = exitCode
}
