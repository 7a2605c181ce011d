import { afterAll, expect, test } from "bun:test"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { databaseFile } from "../../components/apiserver/store/database-file.ts"
import { completeRestore } from "../../cmd/k3ts/snapshot/restore.ts"
import { seededRandom } from "../../pkg/clock/random.ts"
import { SnapshotFolder } from "../../pkg/snapshot/folder.ts"
import { checkStore } from "../../pkg/storage/sqlite/check.ts"
import { createStore, type KeptObject } from "../../pkg/storage/sqlite/create.ts"
import { EXECUTABLE } from "../harness/server.ts"

/** `npm run test:long` kills 50 times. */
const KILLS = Number(process.env["K3TS_KILLS"] ?? 20) / 10
const OBJECTS = 3000

const root = mkdtempSync(join(tmpdir(), "k3ts-snapshot-crash-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** Objects of 10 KB whose content is `text`. */
async function* objects(text: string): AsyncGenerator<KeptObject> {
  for (let revision = 1; revision <= OBJECTS; revision++) {
    const name = `c${revision}`
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { text: `${text} `.repeat(1000) } }
    yield {
      key: `/registry/core/configmaps/default/${name}`,
      revision,
      created: revision,
      time: 0,
      transient: false,
      seldomRead: false,
      value: await Promise.resolve(Buffer.from(JSON.stringify(object))),
    }
  }
}

const command = (name: string, dataDir: string, ...args: readonly string[]) =>
  Bun.spawn([EXECUTABLE, "snapshot", name, "--config", "/dev/null", "--data-dir", dataDir, ...args], {
    stdout: "ignore",
    stderr: "ignore",
  })

test("kill -9 of a save or a restore at any moment leaves only complete snapshots and a complete cluster", async () => {
  // given a cluster, the time that a save and a restore of it take, and a later state
  const random = seededRandom(5)
  const dataDir = join(root, "data")
  mkdirSync(join(dataDir, "server/db"), { recursive: true, mode: 0o700 })
  await createStore(databaseFile(dataDir), OBJECTS, "test", objects("cluster"))
  const folder = new SnapshotFolder(join(dataDir, "snapshots"))
  const saving = performance.now()
  expect(await command("save", dataDir, "--name", "first").exited).toBe(0)
  const saveMs = performance.now() - saving
  const [first] = readdirSync(join(dataDir, "snapshots"))
  const restoring = performance.now()
  expect(await command("restore", dataDir, first!).exited).toBe(0)
  const restoreMs = performance.now() - restoring

  const outcomes = { saved: 0, restored: 0 }
  for (let kill = 0; kill < KILLS; kill++) {
    // when a save is killed
    const save = command("save", dataDir, "--name", `n${kill}`)
    await Bun.sleep(random.next() * saveMs * 1.1)
    save.kill("SIGKILL")
    await save.exited

    // then every snapshot that has a name is whole
    const listed = await folder.list()
    expect(listed.filter(({ content }) => content instanceof Error)).toEqual([])
    outcomes.saved = listed.length - 1

    // when a restore is killed
    const before = statSync(databaseFile(dataDir)).ino
    const restore = command("restore", dataDir, first!)
    await Bun.sleep(random.next() * restoreMs * 1.1)
    restore.kill("SIGKILL")
    await restore.exited

    // then what a server would start on is whole, whether it is the old folder or the new one
    completeRestore(dataDir, kill)
    expect(checkStore(databaseFile(dataDir))).toMatchObject({ problems: [], objects: OBJECTS })
    if (statSync(databaseFile(dataDir)).ino !== before) outcomes.restored++
    for (const name of readdirSync(dataDir))
      if (name.startsWith("server-old-")) rmSync(join(dataDir, name), { recursive: true })
  }

  // and a save after that removes the parts that killed ones left
  expect(await command("save", dataDir, "--name", "last").exited).toBe(0)
  expect(readdirSync(join(dataDir, "snapshots")).filter((name) => name.startsWith("."))).toEqual([])
  expect(existsSync(join(dataDir, "server.restored"))).toBe(false)
  console.log(
    `Of ${KILLS} kills each, ${outcomes.saved} came after the save and ${outcomes.restored} after the restore`,
  )
}, 600_000)
