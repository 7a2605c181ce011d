/**
 * The example of a database: PostgreSQL in three pods, one primary and two replicas. Acknowledged writes survive the
 * end of a pod, of k3ts and of the whole machine.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { postgresImage, postgresVersion } from "../../../hack/images/postgres-image.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { buildImageArchive } from "../../../pkg/oci/archive.ts"
import { isPodReady } from "../../../pkg/pods/pod-state.ts"
import { describeOnNode, startCluster, type Cluster } from "../../harness/cluster.ts"
import { run } from "../../harness/kubectl.ts"
import { EXECUTABLE, startServer, uninstallArgs, type TestServer } from "../../harness/server.ts"

const MANIFEST = join(import.meta.dirname, "../../../manifests/examples/database.yaml")
const PODS = ["database-0", "database-1", "database-2"]
const version = postgresVersion()
if (version === undefined) console.warn("!!! SKIPPED: the database: needs postgresql (hack/setup.sh --test)")

describe.skipIf(version === undefined)("the example of a database", () =>
  describeOnNode("on a node", () => {
    const dataDir = mkdtempSync(join(tmpdir(), "k3ts-database-"))
    let cluster: Cluster
    let server: TestServer
    beforeAll(async () => {
      cluster = await startCluster({ dataDir })
      server = cluster.server
      const archive = join(dataDir, "postgres.tar")
      writeFileSync(archive, buildImageArchive(postgresImage()))
      const imported = await run(EXECUTABLE, ["images", "import", archive, "--data-dir", dataDir])
      expect(imported).toMatchObject({ code: 0, out: "k3ts.local/postgres:1\n" })
      await cluster.kubectl.ok(["apply", "-f", MANIFEST])
      await cluster.pod("database-2")
    }, 90_000)
    afterAll(async () => {
      await server?.[Symbol.asyncDispose]()
      await cluster?.[Symbol.asyncDispose]()
      await run(EXECUTABLE, uninstallArgs(dataDir))
      rmSync(dataDir, { recursive: true, force: true })
    }, 60_000)

    /** Runs SQL in a pod's database. Returns the rows as lines. */
    const sql = async (pod: string, statement: string): Promise<string> =>
      (await cluster.kubectl.ok(["exec", pod, "--", "psql", "-U", "postgres", "-Atqc", statement])).trim()
    /** Repeats a query until it gives the wanted answer, since no watch tells of changes inside a database. */
    async function eventually(ask: () => Promise<string>, wanted: string): Promise<void> {
      const deadline = performance.now() + 30_000
      for (;;) {
        const answer = await ask().catch(String)
        if (answer === wanted) return
        if (performance.now() > deadline) throw new Error(`Expected ${wanted}, got ${answer}`)
        await Bun.sleep(50)
      }
    }
    /**
     * Resolves when all pods are Ready, both replicas follow the primary, and each of the three has exactly these
     * notes.
     */
    async function holds(notes: readonly string[]): Promise<void> {
      for (const pod of PODS) await cluster.pod(pod)
      const followers = "select count(*) from pg_stat_replication where state = 'streaming'"
      await eventually(() => sql("database-0", followers), "2")
      for (const pod of PODS) await eventually(() => sql(pod, "select text from note order by id"), notes.join("\n"))
    }
    const write = (note: string) => sql("database-0", `insert into note (text) values ('${note}')`)
    const pods = async () =>
      (await cluster.client.list(Pod, { namespace: "default", labelSelector: "app=database" })).items
        .map(({ metadata, status }) => ({
          uid: metadata.uid,
          restarts: status.containerStatuses?.[0]?.restartCount,
          container: status.containerStatuses?.[0]?.containerID,
        }))
        .sort((a, b) => (a.uid! < b.uid! ? -1 : 1))

    test("is a primary and two replicas, each with its data in a folder of its own", async () => {
      await sql("database-0", "create table note (id serial primary key, text text not null)")
      await write("first")
      await holds(["first"])
      const [, replica = ""] = PODS
      await expect(sql(replica, "delete from note")).rejects.toThrow("read-only transaction")
      const folders = readdirSync(join(dataDir, "storage")).map((name) => name.replace(/^pvc-[^_]+_/, ""))
      expect(folders.sort()).toEqual(PODS.map((pod) => `default_data-${pod}`))
    }, 60_000)

    test("requires the password from clients on the network", async () => {
      const { podIP } = (await cluster.client.get(Pod, { name: "database-0", namespace: "default" })).status
      const psql = (password: string) =>
        cluster.kubectl.run([
          ...["exec", "database-1", "--", "env", `PGPASSWORD=${password}`],
          ...["psql", "-h", podIP!, "-U", "postgres", "-Atqc", "select 1"],
        ])
      expect(await psql("wrong")).toMatchObject({
        err: expect.stringContaining("password authentication failed") as unknown,
      })
      expect(await psql("change-me")).toMatchObject({ code: 0, out: "1\n" })
    })

    test("keeps its data when its pods are deleted", async () => {
      for (const name of ["database-0", "database-2"]) {
        const { uid } = (await cluster.client.get(Pod, { name, namespace: "default" })).metadata
        await cluster.client.delete(Pod, { name, namespace: "default" })
        await cluster.pod(name, (pod) => pod.metadata.uid !== uid && isPodReady(pod))
      }
      await write("after the deletion of pods")
      await holds(["first", "after the deletion of pods"])
    }, 60_000)

    test("keeps serving while k3ts is dead, and after k3ts starts again", async () => {
      const before = await pods()
      const { podIP } = (await cluster.client.get(Pod, { name: "database-0", namespace: "default" })).status
      await server.kill("SIGKILL")
      const direct = await run(
        `/usr/lib/postgresql/${version}/bin/psql`,
        ["-h", podIP!, "-U", "postgres", "-Atqc", "insert into note (text) values ('without k3ts')"],
        { env: { ...process.env, PGPASSWORD: "change-me" } },
      )
      expect(direct).toMatchObject({ code: 0 })
      server = await startServer({ agent: true, dataDir, port: server.port })
      await eventually(() => sql("database-0", "select count(*) from note"), "3")
      await holds(["first", "after the deletion of pods", "without k3ts"])
      expect(await pods()).toEqual(before)
    }, 60_000)

    test("has every acknowledged write after all processes of the machine's pods have ended at once", async () => {
      // given a note that was acknowledged just before the end
      const before = await pods()
      await write("just before")
      // when k3ts, containerd and all containers are killed, and what a reboot removes is removed: mounts, interfaces,
      // rules, the run folder
      await server.kill("SIGKILL")
      const ended = await run(EXECUTABLE, ["killall", "--data-dir", dataDir])
      expect(ended).toMatchObject({ code: 0 })
      server = await startServer({ agent: true, dataDir, port: server.port })
      // then the same pods run in new containers, on the same data
      const restarted = ({ status }: Pod) => status.containerStatuses?.[0]?.restartCount !== 0
      for (const name of PODS) await cluster.pod(name, (pod) => restarted(pod) && isPodReady(pod))
      await holds(["first", "after the deletion of pods", "without k3ts", "just before"])
      expect((await pods()).map(({ uid }) => uid)).toEqual(before.map(({ uid }) => uid))
      await write("and on")
      await holds(["first", "after the deletion of pods", "without k3ts", "just before", "and on"])
    }, 90_000)
  }),
)
