import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pauseExecutable } from "./pause-elf.ts"

const runs = process.platform === "linux" && process.arch === "x64"

describe.skipIf(!runs)("pauseExecutable for this machine", () => {
  let folder = ""
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "k3ts-pause-"))
    writeFileSync(join(folder, "pause"), pauseExecutable("amd64"))
    chmodSync(join(folder, "pause"), 0o755)
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  test.each(["SIGTERM", "SIGINT"] as const)("sleeps until %s and ends with 0", async (signal) => {
    // given a running pause that has set its handlers
    const child = spawn(join(folder, "pause"), { stdio: "ignore" })
    const exit = new Promise<[number | null, string | null]>((resolve) =>
      child.on("exit", (code, by) => resolve([code, by])),
    )
    await asleep(child.pid!)
    // then children would be reaped by the kernel: SIGCHLD (bit 16) is ignored
    const ignored = /SigIgn:\s*([0-9a-f]+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))
    expect(BigInt(`0x${ignored![1]}`) & (1n << 16n)).not.toBe(0n)
    // when it is told to end
    child.kill(signal)
    // then it exits by itself
    expect(await exit).toEqual([0, null])
  })

  /** Until the process waits in a system call after its last sigaction. */
  async function asleep(pid: number) {
    for (;;) {
      const status = readFileSync(`/proc/${pid}/status`, "utf8")
      const caught = /SigCgt:\s*([0-9a-f]+)/.exec(status)
      if (status.includes("S (sleeping)") && caught && (BigInt(`0x${caught[1]}`) & 0x4002n) === 0x4002n) return
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
})

describe("pauseExecutable", () => {
  test("for arm64 has the instructions a disassembler expects", () => {
    // given the words after the headers
    const file = pauseExecutable("arm64")
    const view = new DataView(file.buffer)
    const words = Array.from({ length: 20 }, (_, i) => view.getUint32(120 + i * 4, true).toString(16))
    // then they are these (mov xN, adr x1, svc, b), and the machine is EM_AARCH64
    expect(view.getUint16(18, true)).toBe(183)
    expect(words).toEqual([
      "d2800002",
      "d2800103",
      "d28010c8",
      "10000221",
      "d2800220",
      "d4000001",
      "100002c1",
      "d28001e0",
      "d4000001",
      "d2800040",
      "d4000001",
      "d2800000",
      "d2800001",
      "d2800003",
      "d2800928",
      "d4000001",
      "17fffffb",
      "d2800000",
      "d2800bc8",
      "d4000001",
    ])
  })
})
