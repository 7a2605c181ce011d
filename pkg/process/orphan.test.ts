import { afterAll, describe, expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { realClock } from "../clock/real.ts"
import { commandLine, endOrphan, processes } from "./orphan.ts"

const folder = mkdtempSync(join(tmpdir(), "k3ts-orphan-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
/** A program that does not end, prints a line once it runs, and has an argument of its own. */
const own = { program: "tail", argument: join(folder, "line"), stopMs: 1000 }
const PROGRAM = ["tail", "-n1", "-f", own.argument] as const
writeFileSync(own.argument, "running\n")
const running = () => processes().filter((pid) => commandLine(pid).slice(-1)[0] === own.argument)

const canContain = process.getuid?.() === 0
if (!canContain) console.warn("!!! SKIPPED: a process of a container is left alone: needs root, for a PID namespace")

describe("a program that an earlier k3ts has left behind", () => {
  test("is found by its command line, and ended", async () => {
    const left = spawn(PROGRAM[0], PROGRAM.slice(1), { stdio: ["ignore", "pipe", "ignore"] })
    const ended = once(left, "exit")
    await once(left.stdout, "data")
    expect(await endOrphan(own, realClock)).toBe(left.pid!)
    await ended
    expect(running()).toEqual([])
  })

  test.skipIf(!canContain)("is not one of a k3ts in a container, which has the same command line", async () => {
    // given
    const container = spawn("unshare", ["--pid", "--fork", "--kill-child", ...PROGRAM], {
      stdio: ["ignore", "pipe", "ignore"],
    })
    const ended = once(container, "exit")
    await once(container.stdout, "data")
    // when
    expect(await endOrphan(own, realClock)).toBeUndefined()
    // then
    expect(running().length).toBeGreaterThan(0)
    container.kill("SIGKILL")
    await ended
  })
})
