import { afterAll, expect, test } from "bun:test"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { k3ts, startServer } from "./k3ts.ts"

const dataDir = mkdtempSync(join(tmpdir(), "k3ts-check-data-"))
afterAll(() => rmSync(dataDir, { recursive: true, force: true }))
const folder = join(dataDir, "server/db")
const database = join(folder, "state.db")
const check = (...flags: string[]) => k3ts(["check-data", "--config", "/dev/null", "--data-dir", dataDir, ...flags])
const files = () =>
  readdirSync(folder)
    .sort()
    .map((name) => [name, readFileSync(join(folder, name)).toString("base64")])

test("k3ts check-data distinguishes intact, damaged and uncheckable data, and changes nothing", async () => {
  // given nothing, then it says what it lacks
  expect(await check()).toMatchObject({ code: 3, stdout: expect.stringContaining(`there is no ${database}`) })

  // given a server that runs, then it says so
  const server = await startServer({ dataDir, keep: true })
  expect(await check()).toMatchObject({ code: 3, stdout: expect.stringContaining(`(pid ${server.pid})`) })

  // given what a killed server left, then it is whole, with the last writes in the log of changes
  server.signal("SIGKILL")
  await server.ended
  expect(existsSync(`${database}-wal`)).toBe(true)
  const left = files()
  const whole = await check("--output", "json")
  expect(whole.code).toBe(0)
  expect(JSON.parse(whole.stdout)).toMatchObject({ ok: true, file: database, problems: [] })
  expect((await check()).stdout).toMatch(
    /^whole: \S+state\.db \(\d+ objects and \d+ earlier states and deletions at revision \d+, [\d.]+ MiB\)\n$/,
  )
  expect(files()).toEqual(left)

  // given a later start and stop, then it is whole, too
  const again = await startServer({ dataDir, keep: true })
  again.signal("SIGTERM")
  await again.ended
  expect((await check()).code).toBe(0)

  // given a changed byte of an object, then it says where
  const bytes = readFileSync(database)
  bytes[bytes.lastIndexOf(`"name":"kube-public"`) + 10]! ^= 1
  writeFileSync(database, bytes)
  const damaged = await check()
  expect(damaged.code).toBe(1)
  expect(damaged.stdout).toMatch(/^damaged: .*does not match its checksum/)
  expect(damaged.stdout).toContain("from a backup")
}, 60_000)
