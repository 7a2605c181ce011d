import { afterAll, describe, expect, test } from "bun:test"
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Secret, startCluster } from "../../components/cluster/testing/testing.ts"
import { startServer, type TestServer } from "../harness/server.ts"
import { k3ts } from "./k3ts.ts"

const root = mkdtempSync(join(tmpdir(), "k3ts-snapshot-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))
const PATH = "/api/v1/namespaces/default/configmaps"
/** Starts a server without a node, so that only the test writes to the store. */
const start = (dataDir: string, port?: number) => startServer({ dataDir, ...(port === undefined ? {} : { port }) })
const snapshot = (command: string, dataDir: string, ...args: readonly string[]) =>
  k3ts(["snapshot", command, "--config", "/dev/null", "--data-dir", dataDir, ...args])

interface Item {
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string }
}
const parsed = <T>(body: Buffer): T => JSON.parse(body.toString()) as T
const items = async (server: TestServer, path = PATH): Promise<ReadonlyMap<string, Item>> =>
  new Map(parsed<{ items: Item[] }>((await server.get(path)).body).items.map((item) => [item.metadata.name, item]))

async function create(server: TestServer, name: string): Promise<Item> {
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { name } }
  return parsed<Item>((await server.send("POST", PATH, object)).body)
}

/** The path of the snapshot that a command printed. */
const pathIn = (stdout: string): string => new URL(stdout.trim()).pathname

const clusters = new Map<string, { readonly dataDir: string; readonly file: string }>()

/** A cluster whose server has stopped, and a snapshot of it. It is made once for each name. */
async function stopped(name: string): Promise<{ readonly dataDir: string; readonly file: string }> {
  const known = clusters.get(name)
  if (known !== undefined) return known
  const dataDir = join(root, name)
  mkdirSync(dataDir)
  {
    await using server = await start(dataDir)
    await create(server, `of-${name}`)
  }
  const made = { dataDir, file: pathIn((await snapshot("save", dataDir)).stdout) }
  clusters.set(name, made)
  return made
}

test("objects that were acknowledged before a snapshot are restored with their UIDs, although writes continued meanwhile", async () => {
  // given a server, and clients that write all the time
  const dataDir = join(root, "busy")
  mkdirSync(dataDir)
  await using server = await start(dataDir)
  const acknowledged: Item[] = []
  let writing = true
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    for (let n = 0; writing; n++) acknowledged.push(await create(server, `w${writer}-${n}`))
  })
  while (acknowledged.length < 300) await Bun.sleep(1)

  // when a snapshot is saved
  const before = [...acknowledged]
  const saved = await snapshot("save", dataDir)
  expect(saved).toMatchObject({ code: 0 })
  writing = false
  await Promise.all(writers)
  const last = await create(server, "after-the-snapshot")
  const kubeconfig = readFileSync(server.kubeconfig)
  await server.kill("SIGKILL")

  // and restored into an empty folder, as on a new machine
  const restoredDir = join(root, "restored")
  const restored = await snapshot("restore", restoredDir, pathIn(saved.stdout))
  expect(restored).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Restored \d+ objects of /) })
  await using again = await start(restoredDir, server.port)

  // then every object that was there has its UID and revision, and its clients their credentials
  const found = await items(again)
  for (const { metadata } of before) expect(found.get(metadata.name)?.metadata).toEqual(metadata)
  expect(found.has("after-the-snapshot")).toBe(false)
  expect(again.token).toBe(server.token)
  expect(readFileSync(again.kubeconfig)).toEqual(kubeconfig)

  // and watches behind the snapshot begin anew, whether their revision came before it or after it
  for (const revision of [before[0]!, last].map(({ metadata }) => metadata.resourceVersion)) {
    const watch = await again.get(`${PATH}?watch=true&resourceVersion=${revision}`)
    expect(watch.body.toString()).toContain('"code":410')
  }
  expect(Number((await create(again, "later")).metadata.resourceVersion)).toBeGreaterThan(
    Number(last.metadata.resourceVersion),
  )
}, 60_000)

describe("k3ts snapshot restore", () => {
  test("keeps the earlier data beside the restored data, so that a restore can be undone", async () => {
    // given a cluster that has changed since its snapshot
    const { dataDir, file } = await stopped("one")
    {
      await using server = await start(dataDir)
      await create(server, "later")
    }

    // when the snapshot is restored by its name
    const restored = await snapshot("restore", dataDir, file.split("/").at(-1)!)

    // then the later object is gone, and the folder that has it is kept
    expect(restored.code).toBe(0)
    const old = /^The earlier data are in (\S+)$/m.exec(restored.stdout)?.[1] ?? ""
    {
      await using server = await start(dataDir)
      expect([...(await items(server)).keys()]).toEqual(["kube-root-ca.crt", "of-one"])
    }
    rmSync(join(dataDir, "server"), { recursive: true })
    renameSync(old, join(dataDir, "server"))
    await using server = await start(dataDir)
    expect((await items(server)).has("later")).toBe(true)
  }, 60_000)

  test("refuses a running server, another cluster and a damaged snapshot, and changes nothing", async () => {
    const [one, two] = [await stopped("one"), await stopped("two")]
    const files = () => new Set(readdirSync(two.dataDir, { recursive: true, encoding: "utf8" }))
    const before = files()

    // given a snapshot of another cluster
    expect(await snapshot("restore", two.dataDir, one.file)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("it has another cluster than the snapshot"),
    })

    // given none
    for (const name of ["none", "/there/is/none"])
      expect((await snapshot("restore", two.dataDir, name)).stderr).toBe(
        `k3ts: there is no snapshot ${name}: k3ts snapshot list shows them\n`,
      )

    // given another cluster whose database cannot be read, then the authorities are compared
    const database = join(two.dataDir, "server/db/state.db")
    const intact = readFileSync(database)
    writeFileSync(database, "damaged")
    expect((await snapshot("restore", two.dataDir, one.file)).stderr).toContain("another cluster")
    writeFileSync(database, intact)

    // given a snapshot with a changed byte
    const damaged = readFileSync(two.file)
    damaged[damaged.length >> 1]! ^= 1
    writeFileSync(join(root, "damaged"), damaged)
    expect((await snapshot("restore", two.dataDir, join(root, "damaged"))).stderr).toContain("it is damaged")
    expect(files()).toEqual(before)

    // given a running server
    await using server = await start(two.dataDir)
    expect(await snapshot("restore", two.dataDir, two.file)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`another k3ts server runs on it (pid ${server.pid})`),
    })
    expect((await items(server)).has("of-two")).toBe(true)
  }, 60_000)

  test("is complete or has not happened, at whatever moment it was killed", async () => {
    // given a restore that was killed before all of the new folder was there
    const { dataDir, file } = await stopped("killed")
    mkdirSync(join(dataDir, "server.restoring/db"), { recursive: true })
    writeFileSync(join(dataDir, "server.restoring/db/state.db"), "half")

    // then the server starts on what was there
    {
      await using server = await start(dataDir)
      await create(server, "later")
    }

    // given one that was killed between its two renames
    expect((await snapshot("restore", dataDir, file)).code).toBe(0)
    expect(existsSync(join(dataDir, "server.restoring"))).toBe(false)
    renameSync(join(dataDir, "server"), join(dataDir, "server.restored"))

    // then the server starts on the snapshot
    await using server = await start(dataDir)
    expect([...(await items(server)).keys()]).toEqual(["kube-root-ca.crt", "of-killed"])
    expect(existsSync(join(dataDir, "server.restored"))).toBe(false)
  }, 60_000)
})

test("a Secret that is encrypted on the disk is encrypted in the snapshot, and can be read after a restore", async () => {
  // given a server that encrypts Secrets
  const dataDir = join(root, "encrypted")
  mkdirSync(dataDir)
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, stringData: { word: "xyzzy-plugh" } }
  const path = "/api/v1/namespaces/default/secrets"
  const files: string[] = []
  {
    await using server = await startServer({ dataDir, flags: ["--secrets-encryption"] })
    await server.send("POST", path, secret)

    // when snapshots are saved of the running server, and of the stopped one
    files.push(pathIn((await snapshot("save", dataDir, "--snapshot-compress=false")).stdout))
  }
  files.push(pathIn((await snapshot("save", dataDir, "--snapshot-compress=false", "--name", "stopped")).stdout))

  // then neither has its content, and a server has it after a restore of either
  for (const [i, file] of files.entries()) {
    const saved = readFileSync(file)
    expect([saved.includes("/registry/core/secrets/default/s"), saved.includes(btoa("xyzzy-plugh"))]).toEqual([
      true,
      false,
    ])
    const restored = join(root, `decrypted-${i}`)
    expect((await snapshot("restore", restored, file)).code).toBe(0)
    await using server = await start(restored)
    expect((await server.get(`${path}/s`)).body.toString()).toContain(btoa("xyzzy-plugh"))
  }

  // and so has a test cluster that starts from it
  await using cluster = await startCluster({ snapshot: files[0]! })
  expect((await cluster.get(Secret, "s")).data).toEqual({ word: btoa("xyzzy-plugh") })
}, 60_000)

test("k3ts snapshot list reports damaged snapshots, and delete and prune remove snapshots", async () => {
  const { dataDir, file } = await stopped("listed")
  const name = file.split("/").at(-1)!
  expect(await snapshot("list", dataDir)).toMatchObject({ code: 0, stdout: expect.stringContaining("whole") })
  const [listed] = JSON.parse((await snapshot("list", dataDir, "--output", "json")).stdout) as [object]
  expect(listed).toMatchObject({ name, location: `file://${file}`, revision: expect.any(Number), format: 1 })

  // given one more that is damaged
  writeFileSync(join(dataDir, "snapshots/on-demand-x-1"), "damaged")
  expect(await snapshot("list", dataDir)).toMatchObject({ code: 1, stdout: expect.stringContaining("damaged: ") })
  expect((await snapshot("delete", dataDir, "on-demand-x-1")).stdout).toBe("Deleted on-demand-x-1\n")
  expect(await snapshot("delete", dataDir, "../k3ts.yaml")).toMatchObject({ code: 1, stdout: "" })
  // and one that is older
  const older = name.replace(/\d+(\.zst)?$/, "1000000000$1")
  copyFileSync(file, join(dataDir, "snapshots", older))
  expect(await snapshot("prune", dataDir, "--snapshot-retention", "0")).toMatchObject({ code: 0, stdout: "" })
  expect((await snapshot("prune", dataDir, "--snapshot-retention", "1")).stdout).toBe(`Deleted ${older}\n`)
  expect((await snapshot("delete", dataDir, name)).stdout).toBe(`Deleted ${name}\n`)
  expect((await snapshot("list", dataDir)).stdout.split("\n")).toHaveLength(2)
  clusters.delete("listed")
}, 60_000)

test.skipIf(process.getuid?.() !== 0)(
  "only the owner of the data directory can reach the socket of a server",
  async () => {
    // given a server, and a user who may pass through the folders above
    const { dataDir } = await stopped("socket")
    await using _server = await start(dataDir)

    // when that user asks for a snapshot
    const script = `const socket = require("node:net").connect(${JSON.stringify(join(dataDir, "run/snapshot.sock"))})
    socket.on("connect", () => { console.log("connected"); process.exit() })
    socket.on("error", (err) => { console.log(err.code); process.exit() })`
    const child = Bun.spawnSync(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "node", "-e", script])

    // then the user cannot
    expect(child.stdout.toString()).toBe("EACCES\n")
  },
  60_000,
)
