import { afterEach, beforeEach, expect, test } from "bun:test"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { packSnapshot } from "../../../pkg/snapshot/pack.ts"
import { bytesSource } from "../../../pkg/snapshot/sources.ts"
import { completeRestore, restoreSnapshot } from "./restore.ts"

const NOW = 1_800_000_000_000
let dataDir = ""
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "k3ts-restore-"))
  mkdirSync(join(dataDir, "server"))
  writeFileSync(join(dataDir, "server/token"), "before")
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

async function restore(): Promise<unknown> {
  const parts = packSnapshot(
    {
      info: { revision: 5, time: NOW, version: "1", node: "n", cluster: "u" },
      files: [{ path: "token", content: Buffer.from("after") }],
      objects: [],
    },
    "none",
  )
  const source = bytesSource(Buffer.concat(await Array.fromAsync(parts)))
  return restoreSnapshot(source, { dataDir, replaceCluster: false, now: NOW })
}
const token = () => readFileSync(join(dataDir, "server/token"), "utf8")

test("the data from before a restore are kept beside the restored data", async () => {
  expect(await restore()).toMatchObject({ old: join(dataDir, "server-old-1800000000") })
  expect(token()).toBe("after")
  expect(readdirSync(join(dataDir, "server-old-1800000000"))).toEqual(["token"])
})

test("a restore that cannot move the old folder aside changes nothing, not at the next start either", async () => {
  // given something in the place of the old folder, to which no folder can be renamed
  symlinkSync("nowhere", join(dataDir, "server-old-1800000000"))

  // when a snapshot is restored
  await expect(restore()).rejects.toThrow(`Cannot replace ${dataDir}/server: a part of its path is no folder`)

  // then all is as before, and the next start has nothing to complete
  expect(readdirSync(dataDir).sort()).toEqual(["server", "server-old-1800000000"])
  completeRestore(dataDir, NOW + 1000)
  expect(token()).toBe("before")
  expect(existsSync(join(dataDir, "server/k3ts.pid"))).toBe(false)
})
