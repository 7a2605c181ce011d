/** docs/tour.md, followed as it is written: every command, and what it prints. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { spawn, spawnSync, type ChildProcess } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { createInterface } from "node:readline"
import { tmpdir } from "node:os"
import { join } from "node:path"

const ROOT = join(import.meta.dirname, "../..")
const EXECUTABLE = join(ROOT, "dist/k3ts")

interface Step {
  readonly command: string
  readonly prints: readonly string[]
}

/** The commands of a page and the lines below each, in the order of the page. */
function stepsOf(page: string): readonly Step[] {
  const blocks = [...page.matchAll(/^```\n(\$ [\s\S]*?)^```$/gm)].map(([, block]) => block!)
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((text) => {
        const [command, ...prints] = text.trimEnd().split("\n")
        return { command: command!, prints }
      }),
  )
}

/** Matches what differs from one cluster to the next. */
const VARIABLE: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME"],
  [/^( *)\d+ {2}(?=TIME)/, "$1REVISION "],
  [/-[a-z0-9]{8,10}-[a-z0-9]{5}\b/g, "-POD"],
  [/\b10(\.\d+){3}/g, "ADDRESS"],
  [/\b\d+s\b/g, "SECONDS"],
  [/node-\d/g, "NODE"],
  [/\d+ objects/, "N objects"],
  [/ +/g, " "],
]
const plain = (line: string): string =>
  VARIABLE.reduce((text, [pattern, name]) => text.replaceAll(new RegExp(pattern, "g"), name), line).trimEnd()

/** Makes a pattern of lines; `…` stands for any text in a line, and alone for any number of lines. */
function patternOf(prints: readonly string[]): RegExp {
  const lines = prints.map((line) =>
    line === "…" ? "(?:.*\n)*?" : `${plain(line).split("…").map(RegExp.escape).join(".*")}\n`,
  )
  return new RegExp(`^${lines.join("")}$`)
}

describe("the tour", () => {
  const folder = mkdtempSync(join(tmpdir(), "k3ts-tour-"))
  let cluster: ChildProcess
  let kubeconfig: string

  beforeAll(async () => {
    for (const name of ["k3ts", "kubectl"]) symlinkSync(EXECUTABLE, join(folder, name))
    cluster = spawn(EXECUTABLE, ["test-cluster", "--nodes", "3"], { stdio: ["pipe", "pipe", "inherit"] })
    for await (const line of createInterface({ input: cluster.stdout! })) {
      kubeconfig = /\S*kubeconfig\S*/.exec(line)?.[0] ?? ""
      if (kubeconfig !== "") break
    }
  }, 60_000)
  afterAll(() => {
    cluster.kill()
    rmSync(folder, { recursive: true })
  })

  const run = (command: string): string => {
    const env = { PATH: `${folder}:${process.env["PATH"] ?? ""}`, KUBECONFIG: kubeconfig, HOME: folder }
    const { stdout, stderr } = spawnSync("sh", ["-c", command], { cwd: ROOT, env, encoding: "utf8" })
    return `${stderr}${stdout}`.split("\n").map(plain).join("\n")
  }
  /** Whether a command may be asked again until the cluster, or the time, is where the page has it. */
  const onlyReads = (command: string) => /^(kubectl|k3ts) (get|why|history|what-if|rollout)\b/.test(command)

  const steps = stepsOf(readFileSync(join(ROOT, "docs/tour.md"), "utf8"))
  test("has steps for each part of the page", () => expect(steps.length).toBeGreaterThan(15))

  test.each(steps)(
    "$command",
    async ({ command, prints }) => {
      const wanted = patternOf(prints)
      let printed = run(command)
      for (let i = 0; i < 50 && !wanted.test(printed) && onlyReads(command); i++) {
        await Bun.sleep(100)
        printed = run(command)
      }
      expect(printed).toMatch(wanted)
    },
    30_000,
  )
})
