import { freePort } from "../../pkg/runtime/free-port.fixtures.ts"
import { describe, expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { EXECUTABLE, startServer } from "../harness/server.ts"

/** Damages to a file while no server runs. */
const harms: Readonly<Record<string, (path: string) => void>> = {
  "is empty": (path) => writeFileSync(path, ""),
  "holds something else": (path) => writeFileSync(path, "what is this?\n"),
  "is a folder": (path) => {
    rmSync(path)
    mkdirSync(join(path, "sub"), { recursive: true })
  },
}

const filesIn = (dir: string): readonly string[] =>
  readdirSync(dir, { recursive: true, encoding: "utf8" }).filter((path) => statSync(join(dir, path)).isFile())

interface Ended {
  readonly ready: boolean
  readonly code: number | null
  readonly output: string
}

/** Starts a server on a folder, waits until it is ready or has ended, and ends it. */
async function tryStart(dataDir: string, kubeconfig: string, flags: readonly string[] = []): Promise<Ended> {
  const port = await freePort()
  const child = spawn(EXECUTABLE, [
    ...["server", "--config", "/dev/null", "--disable-agent", "--data-dir", dataDir],
    ...["--https-listen-port", String(port), "--write-kubeconfig", kubeconfig, ...flags],
  ])
  let output = ""
  const { promise: running, resolve } = Promise.withResolvers<boolean>()
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (bytes: Buffer) => {
      output += bytes.toString()
      if (output.includes("k3ts is running")) resolve(true)
    })
  const ended = once(child, "close")
  void ended.then(() => resolve(false))
  const ready = await running
  child.kill("SIGTERM")
  const [code] = (await ended) as [number | null]
  return { ready, code, output }
}

describe("a server with damaged files", () => {
  test("starts, or reports in one line which file it cannot use", async () => {
    // given the files of a server that has run
    const home = mkdtempSync(join(tmpdir(), "k3ts-files-"))
    const sound = join(home, "sound")
    await using server = await startServer({ dataDir: sound, prepare: (dir) => mkdirSync(dir, { recursive: true }) })
    await server.kill("SIGTERM")
    const files = filesIn(sound)
    expect(files.length).toBeGreaterThan(10)

    // when each is harmed in each way
    const silent: string[] = []
    for (const file of files)
      for (const [harm, apply] of Object.entries(harms)) {
        const dataDir = join(home, "harmed")
        cpSync(sound, dataDir, { recursive: true })
        const path = join(dataDir, file)
        apply(path)
        const { ready, code, output } = await tryStart(dataDir, join(dataDir, "k3ts.yaml"))
        const last = output.trim().split("\n").at(-1)!
        // then
        if (!ready && !(code === 1 && last.startsWith("k3ts: ") && last.includes(path.replace(/\.(crt|key)$/, ""))))
          silent.push(`${file} ${harm}: code ${code}: ${last}`)
        rmSync(dataDir, { recursive: true })
      }
    expect(silent).toEqual([])
    rmSync(home, { recursive: true })
  }, 120_000)

  test("does not start without permission to write its files", async () => {
    // given paths that cannot be written
    const home = mkdtempSync(join(tmpdir(), "k3ts-files-"))
    const folder = join(home, "folder")
    mkdirSync(join(folder, "sub"), { recursive: true })
    writeFileSync(join(home, "file"), "")
    const tries: readonly (readonly [path: string, flags: readonly string[], kubeconfig?: string])[] = [
      [folder, ["--audit-log-path", folder]],
      [join(home, "file/audit.log"), ["--audit-log-path", join(home, "file/audit.log")]],
      [folder, [], folder],
      [join(home, "file/k3ts.yaml"), [], join(home, "file/k3ts.yaml")],
    ]

    // when it is started with each
    for (const [path, flags, kubeconfig = join(home, "k3ts.yaml")] of tries) {
      const { ready, code, output } = await tryStart(join(home, "data"), kubeconfig, flags)

      // then it ends with a line that names the file, and leaves no key behind
      const last = output.trim().split("\n").at(-1)!
      expect([ready, code, last]).toEqual([false, 1, expect.stringMatching(/^k3ts: /)])
      expect(last).toContain(path.replace(/\/[^/]*\.yaml$/, ""))
      expect(readdirSync(home).filter((name) => name.endsWith(".tmp"))).toEqual([])
    }
    rmSync(home, { recursive: true })
  }, 60_000)

  test("creates the folder of its audit log", async () => {
    const home = mkdtempSync(join(tmpdir(), "k3ts-files-"))
    const path = join(home, "new/audit.log")
    const { ready } = await tryStart(join(home, "data"), join(home, "k3ts.yaml"), ["--audit-log-path", path])
    expect(ready).toBe(true)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    rmSync(home, { recursive: true })
  })
})
