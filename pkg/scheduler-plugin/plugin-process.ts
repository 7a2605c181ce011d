/** The program in which one plugin runs: it reads questions from standard input, and answers on file 3. */
import { writeFileSync, writeSync } from "node:fs"
import process from "node:process"
import { createInterface } from "node:readline"
import { pathToFileURL } from "node:url"
import { errorMessage } from "../errors/error-message.ts"
import { describePlugin } from "./describe-plugin.ts"
import type { SchedulerPlugin } from "./plugin.ts"
import type { NodesChange, PluginRequest } from "./protocol.ts"
import { PluginRunner } from "./runner.ts"

const ANSWERS = 3

interface Message {
  readonly id?: number
  readonly load?: true
  readonly ping?: true
  readonly cancel?: number
  readonly nodes?: NodesChange
  readonly request?: PluginRequest
}

/** Runs the plugin of a file until standard input ends: that is when the server has ended, however it has. */
export function runPluginProcess(file: string): Promise<number> {
  let runner: Promise<PluginRunner> | undefined
  const signals = new Map<number, AbortController>()
  const load = () =>
    (runner ??= import(pathToFileURL(file).href).then(({ default: plugin }: { default?: unknown }) => {
      describePlugin(plugin)
      return new PluginRunner(plugin as SchedulerPlugin)
    }))
  beFirstToGo()
  // A promise that the plugin forgot is no reason to end it.
  process.on("unhandledRejection", (err) => process.stderr.write(`unhandled rejection: ${errorMessage(err)}\n`))

  async function answered({ id = 0, load: isLoad, nodes, request }: Message): Promise<unknown> {
    const running = await load()
    if (isLoad === true)
      return describePlugin(((await import(pathToFileURL(file).href)) as { default: unknown }).default)
    if (request === undefined) return nodes && running.learn(nodes)
    const aborter = new AbortController()
    signals.set(id, aborter)
    try {
      return await running.run(request, nodes, aborter.signal)
    } finally {
      signals.delete(id)
    }
  }

  async function take(line: string): Promise<void> {
    const message = JSON.parse(line) as Message
    const { id = 0, cancel } = message
    if (cancel !== undefined) return signals.get(cancel)?.abort(new Error("nobody waits for the answer any more"))
    if (message.ping === true) return answer({ id })
    try {
      const ok = await answered(message)
      if (id > 0) answer({ id, ok })
    } catch (err) {
      if (id > 0) answer({ id, error: `${message.request?.call ?? "the file"} failed: ${whereAndWhat(err, file)}` })
    }
  }

  return new Promise((resolve) => {
    createInterface({ input: process.stdin })
      .on("line", (line) => void take(line))
      .on("close", () => resolve(0))
  })
}

/** JSON of what a plugin answers may fail: a circle, a BigInt, a getter that throws. */
function answer(message: { readonly id: number; readonly ok?: unknown; readonly error?: string }): void {
  let text: string
  try {
    text = JSON.stringify(message)
  } catch (err) {
    text = JSON.stringify({ id: message.id, error: `the answer cannot be JSON: ${errorMessage(err)}` })
  }
  const bytes = Buffer.from(`${text}\n`)
  for (let at = 0; at < bytes.length;) at += written(bytes.subarray(at))
}

/** The pipe may be full for a moment. */
function written(bytes: Buffer): number {
  try {
    return writeSync(ANSWERS, bytes)
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === "EAGAIN") return 0
    process.exit(1)
  }
}

/** The error, with the first line of the plugin's own file in its stack. */
function whereAndWhat(err: unknown, file: string): string {
  const where = err instanceof Error ? err.stack?.split("\n").find((line) => line.includes(file)) : undefined
  const [place] = /(?<![^\s()])[^\s()]*:\d+/.exec(where ?? "") ?? []
  return place === undefined ? errorMessage(err) : `${errorMessage(err)} (${place})`
}

/** Where memory runs out, the kernel ends this process, and not the server. */
function beFirstToGo(): void {
  try {
    writeFileSync("/proc/self/oom_score_adj", "1000")
  } catch {
    // Not on Linux, or without /proc.
  }
}
