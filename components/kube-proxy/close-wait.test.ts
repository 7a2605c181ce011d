import { expect, test } from "bun:test"
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { VirtualClock } from "../../pkg/clock/virtual.ts"
import { silent } from "../../pkg/log/log.ts"
import { CLOSE_WAIT_S, CloseWait, keepCloseWait } from "./close-wait.ts"

const CASES: readonly {
  readonly title: string
  readonly before: string
  readonly seconds: number
  readonly wants: string
}[] = [
  { title: "an hour, in place of the kernel's minute", before: "60\n", seconds: CLOSE_WAIT_S, wants: "3600" },
  { title: "less, if told so", before: "3600\n", seconds: 300, wants: "300" },
  { title: "as long as before, when it is that already", before: "3600\n", seconds: CLOSE_WAIT_S, wants: "3600\n" },
  { title: "as long as the kernel does, with 0", before: "60\n", seconds: 0, wants: "60\n" },
]

test.each(CASES)("a connection that one side has closed is kept $title", async ({ before, seconds, wants }) => {
  const folder = mkdtempSync(join(tmpdir(), "close-wait-"))
  try {
    const file = join(folder, "setting")
    writeFileSync(file, before)
    await keepCloseWait(seconds, file)
    expect(readFileSync(file, "utf8")).toBe(wants)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test("a machine without connection tracking has no such setting, and gets none", async () => {
  const file = join(tmpdir(), "close-wait-of-no-machine")
  await expect(keepCloseWait(CLOSE_WAIT_S, file)).rejects.toThrow("ENOENT")
  expect(statSync(file, { throwIfNoEntry: false })).toBeUndefined()
})

test("the time is set a minute after the kernel begins to track connections, and after another program changed it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "close-wait-"))
  try {
    // given a kernel that does not track connections yet
    const file = join(folder, "setting")
    const clock = new VirtualClock(0)
    const closeWait = new CloseWait({ clock, log: silent, seconds: CLOSE_WAIT_S, file })
    await closeWait.start()
    for (const before of ["60\n", "120\n"]) {
      // when it does, or another program writes
      writeFileSync(file, before)
      await clock.advance(60_000)
      await closeWait.stop()
      // then
      expect(readFileSync(file, "utf8")).toBe("3600")
      await closeWait.start()
    }
    await closeWait.stop()
  } finally {
    rmSync(folder, { recursive: true })
  }
})
