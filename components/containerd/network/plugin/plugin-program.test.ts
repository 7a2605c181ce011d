import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Architecture } from "../../elf.ts"
import { pluginExecutable } from "./plugin-program.ts"

/** The command by which this machine runs a program for each architecture. */
const RUNNERS: Readonly<Record<Architecture, readonly string[]>> = {
  amd64: process.arch === "x64" ? ["env"] : ["qemu-x86_64-static"],
  arm64: process.arch === "arm64" ? ["env"] : ["qemu-aarch64-static"],
}

describe.each(["amd64", "arm64"] as const)("pluginExecutable for %s", (architecture) => {
  const [runner = ""] = RUNNERS[architecture]
  const runs = process.platform === "linux" && spawnSync(runner, ["--version"]).status === 0
  let folder = ""
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "k3ts-program-"))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  test.skipIf(!runs)("prints a CNI error when k3ts does not answer", () => {
    const program = join(folder, "plugin")
    writeFileSync(program, pluginExecutable(architecture, join(folder, "none.sock")), { mode: 0o755 })
    const { status, stdout } = spawnSync(runner, [program], { encoding: "utf8" })
    expect([status, JSON.parse(stdout)]).toEqual([
      1,
      { cniVersion: "1.0.0", code: 11, msg: `k3ts does not answer at ${folder}/none.sock` },
    ])
  })

  test("is a static executable for the processor, with all of its code", () => {
    const file = Buffer.from(pluginExecutable(architecture, "/run/plugin.sock"))
    const code = file.subarray(64 + 2 * 56, file.indexOf("/run/plugin.sock") - 2)
    // the machine, and the listing's last instructions: exit_group(1)
    expect([file.readUInt16LE(18), code.length, code.toString("hex", code.length - 12)]).toEqual(
      architecture === "amd64" ? [62, 178, "bf01000000b8e70000000f05"] : [183, 188, "200080d2c80b80d2010000d4"],
    )
  })
})

test("a path that does not fit the address of a socket is refused", () => {
  expect(() => pluginExecutable("amd64", `/${"x".repeat(107)}`)).toThrow("longer than 107 bytes")
})
