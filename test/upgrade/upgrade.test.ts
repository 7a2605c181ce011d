/** Data of every format that a released version has written, and two versions on the same data. */
import { afterEach, beforeEach, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openSqlite } from "../../pkg/runtime/sqlite.ts"
import { NEWER_VERSION, startServer, type TestServer } from "../harness/server.ts"

let dataDir: string
beforeEach(() => void (dataDir = mkdtempSync(join(tmpdir(), "k3ts-upgrade-"))))
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

const start = (program?: readonly string[]) =>
  startServer({ agent: "simulated", dataDir, flags: ["--node-name", "node-1"], ...(program ? { program } : {}) })

const read = async (server: TestServer, path: string) => {
  const { status, body } = await server.get(path)
  return { status, object: JSON.parse(body.toString()) as { metadata: { uid: string }; data?: Record<string, string> } }
}

const PODS = "/api/v1/namespaces/default/pods"
interface PodList {
  readonly items: readonly {
    readonly metadata: { readonly uid: string }
    readonly status: { readonly phase: string }
  }[]
}
/** The uids of the pods, once so many are running. */
async function runningPods(server: TestServer, count: number): Promise<readonly string[]> {
  for (;;) {
    const { items } = JSON.parse((await server.get(PODS)).body.toString()) as PodList
    if (items.length === count && items.every(({ status }) => status.phase === "Running"))
      return items.map(({ metadata }) => metadata.uid).sort()
    await Bun.sleep(20)
  }
}

/** Fixtures are made by `make-fixture.sh` with an executable of the version that has introduced the format. */
test.each([
  { format: "format-2", what: "without encryption" },
  { format: "format-3", what: "with encrypted Secrets" },
])("a server starts on data of $format, $what, and has every object with its uid", async ({ format }) => {
  // given
  const fixture = join(import.meta.dirname, "data", format)
  spawnSync("tar", ["-xzf", `${fixture}.tar.gz`, "-C", dataDir])
  const uids = JSON.parse(readFileSync(`${fixture}.json`, "utf8")) as Record<string, string>
  // when
  await using server = await start()
  // then
  expect(Object.keys(uids).length).toBeGreaterThan(3)
  for (const [path, uid] of Object.entries(uids)) {
    const { status, object } = await read(server, path)
    expect({ path, status, uid: object.metadata.uid }).toEqual({ path, status: 200, uid })
  }
  const { object: secret } = await read(server, "/api/v1/namespaces/default/secrets/password")
  expect(Buffer.from(secret.data!["password"]!, "base64").toString()).toBe("hunter2")
  const { object: settings } = await read(server, "/api/v1/namespaces/default/configmaps/settings")
  expect(settings.data).toEqual({ colour: "blue" })
  expect((await server.get("/api/v1/namespaces/default/configmaps/gone")).status).toBe(404)
  // and its pods are those that it had
  const pods = Object.entries(uids).flatMap(([path, uid]) => (path.startsWith(PODS) ? [uid] : []))
  expect(await runningPods(server, 2)).toEqual(pods.sort())
})

test("a newer version takes over the pods of an older one; data of a newer format are refused and not touched", async () => {
  // given pods of this version
  const old = await start()
  await old.send("POST", "/apis/apps/v1/namespaces/default/deployments", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: { containers: [{ name: "web", image: "example.com/web:1" }] },
      },
    },
  })
  const pods = await runningPods(old, 2)
  await old[Symbol.asyncDispose]()
  // when a newer one starts
  const newer = await start(NEWER_VERSION)
  expect(newer.output()).toContain("version=9.9.9")
  // then
  expect(await runningPods(newer, 2)).toEqual(pods)
  await newer[Symbol.asyncDispose]()
  // when it has written a format that this version does not know
  const database = join(dataDir, "server/db/state.db")
  const db = openSqlite(database)
  db.exec("PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)")
  db.close()
  const before = readFileSync(database)
  // then
  expect(await start().then(String, String)).toContain("a downgrade is not possible")
  expect(readFileSync(database)).toEqual(before)
})
