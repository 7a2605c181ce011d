import { constants } from "node:fs"
import { access } from "node:fs/promises"
import { constants as osConstants } from "node:os"
import { join } from "node:path"
import { realClock } from "../../clock/real.ts"
import type { Programs } from "./programs.ts"

/** Programs of this machine. */
export const hostPrograms: Programs = {
  async run({ command, args, variables, stdin = "inherit", output = "inherit", errors = output, cwd, timeoutMs }) {
    const { spawn } = await import("node:child_process")
    return new Promise((resolve, reject) => {
      const isText = stdin !== "inherit" && stdin !== "ignore"
      const child = spawn(command, args, {
        env: variables ?? process.env,
        ...(cwd === undefined ? {} : { cwd }),
        stdio: [
          isText ? "pipe" : stdin,
          output === "inherit" ? "inherit" : "pipe",
          errors === "inherit" ? "inherit" : "pipe",
        ],
      })
      const collected = { stdout: "", stderr: "" }
      child.stdout?.setEncoding("utf8").on("data", (text: string) => void (collected.stdout += text))
      child.stderr?.setEncoding("utf8").on("data", (text: string) => void (collected.stderr += text))
      child.stdin?.on("error", () => undefined)
      if (isText) child.stdin?.end(stdin)
      let timedOut = false
      const timer =
        timeoutMs === undefined
          ? undefined
          : realClock.setTimeout(() => {
              timedOut = true
              child.kill("SIGKILL")
            }, timeoutMs)
      child.once("error", reject)
      child.once("close", (code, signal) => {
        timer?.cancel()
        resolve({ code: code ?? signalCode(signal), ...collected, timedOut })
      })
    })
  },
  async find(name) {
    if (name.includes("/")) return (await isExecutable(name)) ? name : undefined
    for (const folder of (process.env["PATH"] ?? "").split(":")) {
      const path = join(folder === "" ? "." : folder, name)
      if (await isExecutable(path)) return path
    }
    return undefined
  },
}

const signalCode = (signal: NodeJS.Signals | null): number => (signal === null ? 1 : 128 + osConstants.signals[signal])

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
