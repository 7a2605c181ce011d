/**
 * Testing an operator without a cluster: config-sharing.ts runs against the real API under the real garbage collector
 * and admission, in virtual time, and as a program over HTTPS.
 */
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, test } from "bun:test"
import { runOperator } from "../../pkg/operator/operator.ts"
import { ConfigMap, Lease, Namespace, startCluster } from "../../components/cluster/testing/testing.ts"
import { SHARED, sharing } from "./config-sharing.ts"

const original = (text: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "motd", labels: SHARED },
  data: { text },
})
const namespace = (name: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })

describe("the sharing operator", () => {
  test("copies an object into every namespace, old and new, and follows its changes", async () => {
    // given the operator in a cluster with a namespace
    await using cluster = await startCluster()
    await cluster.run(sharing)
    await cluster.apply(namespace("old"))
    // when something is shared, a namespace made, and the text changed
    await cluster.apply(original("hello"))
    await cluster.apply(namespace("new"))
    await cluster.apply(original("good evening"))
    // then
    for (const name of ["old", "new"])
      expect((await cluster.get(ConfigMap, `${name}/motd`)).data).toEqual({ text: "good evening" })
  })

  test("deletes the copies together with the original", async () => {
    await using cluster = await startCluster({ preload: [namespace("team"), original("hello")] })
    await cluster.run(sharing)
    expect(await cluster.find(ConfigMap, "team/motd")).toBeDefined()
    await cluster.delete(ConfigMap, "motd")
    expect(await cluster.find(ConfigMap, "team/motd")).toBeUndefined()
  })

  test("recovers from an API that fails for a while", async () => {
    // given an API server that refuses its writes
    await using cluster = await startCluster({ preload: namespace("team") })
    await using outage = await cluster.faults.requests({
      verb: "patch",
      resource: "configmaps",
      namespace: "team",
      error: "InternalError",
    })
    await cluster.run(sharing)
    await cluster.apply(original("hello"))
    await cluster.advance("1m")
    expect(await cluster.find(ConfigMap, "team/motd")).toBeUndefined()
    // when that is over, then the back-off ends it
    await outage.end()
    await cluster.eventually(async () => (await cluster.find(ConfigMap, "team/motd")) !== undefined, { within: "5m" })
  })

  test("runs in the leader of two processes, and continues in the other when the leader has ended", async () => {
    // given two copies, each of which runs as in its own process
    await using cluster = await startCluster({ preload: namespace("team") })
    const [first, second] = [new AbortController(), new AbortController()]
    const run = (identity: string, { signal }: AbortController) =>
      runOperator(cluster.contextFor(identity, ["system:masters"]), [sharing], {
        signal,
        leaderElection: { name: "config-sharing", namespace: "default", identity },
      })
    const ends = [run("first", first)]
    await cluster.advance("1s")
    ends.push(run("second", second))
    await cluster.apply(original("hello"))
    await cluster.advance("1m")
    const authors = () =>
      cluster.history({ kind: "ConfigMap", namespace: "team", name: "motd" }).map((entry) => entry.author)
    expect(authors()).toEqual(["first"])
    // when the leader ends
    first.abort()
    await cluster.advance("10s")
    await cluster.apply(original("good evening"))
    // then the other goes on
    await cluster.eventually(() => authors().length === 2)
    expect(authors()).toEqual(["first", "second"])
    expect((await cluster.get(Lease, "config-sharing")).spec.holderIdentity).toBe("second")
    second.abort()
    await cluster.eventually(() => Promise.all(ends).then(() => true))
  })

  // A program of its own runs on Bun; what is promised under Deno is testing.
  test.skipIf("deno" in process.versions)(
    "runs as a program, over HTTPS, with a kubeconfig, and releases its Lease at SIGTERM",
    async () => {
      // given a cluster that programs outside reach
      await using cluster = await startCluster({ clock: "real", components: { scheduler: false } })
      const { kubeconfig } = await cluster.listen()
      const folder = mkdtempSync(join(tmpdir(), "k3ts-operator-"))
      writeFileSync(join(folder, "kubeconfig"), kubeconfig)
      const program = spawn(process.execPath, [join(import.meta.dirname, "config-sharing-main.ts")], {
        env: { ...process.env, KUBECONFIG: join(folder, "kubeconfig") },
        stdio: "inherit",
      })
      const ended = new Promise<number | null>((resolve) => program.once("exit", resolve))
      try {
        // when
        await cluster.apply([namespace("team"), original("hello")])
        // then
        await cluster.eventually(async () => (await cluster.find(ConfigMap, "team/motd"))?.data?.["text"] === "hello")
        await cluster.delete(Namespace, "team")
        await cluster.delete(ConfigMap, "motd")
        program.kill("SIGTERM")
        expect(await ended).toBe(0)
        expect((await cluster.get(Lease, "config-sharing")).spec.holderIdentity).toBe("")
      } finally {
        program.kill("SIGKILL")
        rmSync(folder, { recursive: true, force: true })
      }
    },
    30_000,
  )
})
