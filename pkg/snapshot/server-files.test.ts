import { afterAll, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { readServerFiles, writeServerFile } from "./server-files.ts"

const root = mkdtempSync(join(tmpdir(), "k3ts-server-files-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

test("the files that identify a cluster are saved and restored, and no files of the database or of a process", () => {
  // given the folder of a server
  const from = join(root, "from")
  for (const folder of ["db", "tls", "cred/keys"]) mkdirSync(join(from, folder), { recursive: true })
  for (const file of ["token", "tls/server-ca.key", "cred/keys/one.json", "db/state.db", "k3ts.pid", "token.tmp"])
    writeFileSync(join(from, file), file)
  symlinkSync("/etc/shadow", join(from, "tls/link"))

  // when its files are read and written elsewhere
  const files = readServerFiles(from)
  const to = join(root, "to")
  for (const file of files) writeServerFile(to, file)

  // then they are there, for their owner only
  expect(files.map(({ path }) => path)).toEqual(["cred/keys/one.json", "tls/server-ca.key", "token"])
  expect(readServerFiles(to)).toEqual(files)
  expect(statSync(join(to, "cred/keys")).mode & 0o777).toBe(0o700)
  expect(statSync(join(to, "tls/server-ca.key")).mode & 0o777).toBe(0o600)
})

test("a path that leads elsewhere, or to the database, is refused", () => {
  const to = join(root, "refusing")
  const paths = [
    "../x",
    "/etc/x",
    "tls/../../x",
    "./x",
    "a//b",
    "",
    "db/state.db",
    "k3ts.pid",
    "a\0b",
    "a".repeat(2000),
  ]
  for (const path of paths)
    expect(() => writeServerFile(to, { path, content: new Uint8Array() })).toThrow(/Cannot restore the file/)
  mkdirSync(to)
  expect(readdirSync(to)).toEqual([])
})
