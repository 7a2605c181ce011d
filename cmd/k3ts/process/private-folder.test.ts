import { expect, test } from "bun:test"
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { silent, type Logger } from "../../../pkg/log/log.ts"
import { closeServerFolder } from "./private-folder.ts"

test("a server's folder, keys and tokens with rights of others lose them with a warning, and other files keep theirs", () => {
  // given a data directory that was restored with wrong modes
  const dataDir = mkdtempSync(join(tmpdir(), "k3ts-modes-"))
  mkdirSync(join(dataDir, "server/tls"), { recursive: true })
  const paths = ["server/token", "server/tls/server-ca.key", "server/tls/server-ca.crt"].map((name) =>
    join(dataDir, name),
  )
  for (const path of paths) writeFileSync(path, "x", { mode: 0o644 })
  for (const path of paths) chmodSync(path, 0o644)
  chmodSync(join(dataDir, "server"), 0o755)
  // and a link among them that leads to a file of others
  const outside = join(dataDir, "outside")
  writeFileSync(outside, "x", { mode: 0o644 })
  symlinkSync(outside, join(dataDir, "server/linked.key"))
  const warned: unknown[] = []
  const log: Logger = { ...silent, warn: (_message, fields) => void warned.push(fields?.["path"]) }

  // when
  closeServerFolder(dataDir, log)
  closeServerFolder(dataDir, log)

  // then
  const modes = [join(dataDir, "server"), ...paths].map((path) => (statSync(path).mode & 0o777).toString(8))
  expect(modes).toEqual(["700", "600", "600", "644"])
  expect(statSync(outside).mode & 0o777).toBe(0o644)
  expect(warned).toEqual([join(dataDir, "server"), ...paths.slice(0, 2)])
  rmSync(dataDir, { recursive: true })
})
