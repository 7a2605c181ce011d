import { spawn } from "node:child_process"

/**
 * Runs a program, in a folder, with more variables. Returns what it printed, of both streams.
 * @throws Error with the end of that, unless it ends with 0 within the seconds
 */
export function runIn(
  folder: string,
  words: readonly string[],
  seconds: number,
  variables: Readonly<Record<string, string>> = {},
): Promise<string> {
  const [program, ...args] = words as [string, ...string[]]
  return new Promise((resolve, reject) => {
    // A group of its own: what it has started ends with it.
    const child = spawn(program, args, {
      cwd: folder,
      env: { ...process.env, ...variables },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    })
    let output = ""
    const keep = (bytes: Buffer) => void (output += bytes.toString())
    child.stdout.on("data", keep)
    child.stderr.on("data", keep)
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      end()
    }, seconds * 1000)
    const end = () => {
      try {
        process.kill(-child.pid!, "SIGKILL")
      } catch {
        // All of the group have ended.
      }
    }
    child.once("error", (err) => {
      clearTimeout(timer)
      reject(new Error(`${program} cannot be run: ${err.message}`))
    })
    child.once("close", (code) => {
      clearTimeout(timer)
      if (code === 0) return resolve(output)
      const why = isLate ? `has not ended after ${seconds} s` : `ended with ${code}`
      reject(new Error(`${program} ${why}:\n${output.slice(-6000)}`))
    })
  })
}
