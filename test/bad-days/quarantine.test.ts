/** An object that ends the server is set aside, and everything else goes on. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { EXECUTABLE, startServer, type TestServer } from "../harness/server.ts"

const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
const REPLICA_SETS = "/apis/apps/v1/namespaces/default/replicasets"
const POISON = 13

const deployment = (name: string, replicas: number) => ({
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "c", image: "i" }] } },
  },
})

describe("a server that an object ends", () => {
  let dataDir: string
  let running: TestServer | undefined
  beforeEach(() => void (dataDir = mkdtempSync(join(tmpdir(), "k3ts-poison-"))))
  afterEach(async () => {
    await running?.[Symbol.asyncDispose]()
    running = undefined
    rmSync(dataDir, { recursive: true })
  })
  const start = async () =>
    (running = await startServer({
      dataDir,
      program: [process.execPath, join(import.meta.dirname, "poisoned-server.fixtures.ts")],
    }))
  /** Starts a server that ends by itself, before it is ready or after that. */
  const endedByItself = () =>
    start().then(
      (server) => server.ended,
      () => undefined,
    )
  const k3ts = (...args: readonly string[]) =>
    spawnSync(EXECUTABLE, [...args, "--data-dir", dataDir], { encoding: "utf8" }).stdout
  const until = async (server: TestServer, path: string, wanted: (body: string) => boolean): Promise<string> => {
    for (;;) {
      const body = (await server.get(path)).body.toString()
      if (wanted(body)) return body
      await Bun.sleep(20)
    }
  }

  test("twice sets it aside at the next start and names it, and an edit frees it", async () => {
    // given a server that has ended by an object, and by the same again
    const first = await start()
    await first.send("POST", DEPLOYMENTS, deployment("poison", POISON)).catch(() => undefined)
    await first.ended
    // it is tried alone, when everything else has had its turn
    await endedByItself()
    // when
    const third = await start()
    // then it is named, and everything else works
    const health = await until(third, "/readyz?verbose", (body) => body.includes("quarantine"))
    expect(health).toContain(
      "[+]quarantine ok: deployment-controller skips default/poison, because the process ended twice while it was worked on\n",
    )
    expect(health).toContain("readyz check passed")
    await third.send("POST", DEPLOYMENTS, deployment("good", 1))
    expect(await until(third, REPLICA_SETS, (body) => body.includes("good-"))).not.toContain("poison-")
    await until(third, "/api/v1/namespaces/default/events?fieldSelector=reason%3DSetAside", (body) =>
      body.includes("deployment-controller skips this object"),
    )
    expect(k3ts("quarantine", "list")).toMatch(/^deployment-controller +default\/poison /m)
    await third.kill("SIGTERM")
    expect(k3ts("check-data")).toContain("set aside: deployment-controller skips default/poison")
    // and an edit frees it
    const fourth = await start()
    await fourth.send("PATCH", `${DEPLOYMENTS}/poison`, { spec: { replicas: 1 } }, "application/merge-patch+json")
    await until(fourth, REPLICA_SETS, (body) => body.includes("poison-"))
    expect((await fourth.get("/readyz?verbose")).body.toString()).toContain("[+]quarantine ok\n")
    expect(k3ts("quarantine", "list")).toBe("Nothing is set aside\n")
    await fourth.kill("SIGTERM")
    expect(existsSync(join(dataDir, "quarantine"))).toBe(false)
  }, 60_000)

  test("by one after another comes up without controllers after three failed starts, and says how to go on", async () => {
    // given more objects than starts
    const sound = (running = await startServer({ dataDir, flags: ["--disable", "controller-manager"] }))
    for (const name of ["a", "b", "c", "d", "e"]) await sound.send("POST", DEPLOYMENTS, deployment(name, POISON))
    await sound.kill("SIGTERM")
    for (let i = 0; i < 3; i++) await endedByItself()
    // when
    const last = await start()
    // then
    expect(await until(last, "/readyz?verbose", (body) => body.includes("quarantine"))).toContain(
      "[+]quarantine ok: 3 starts in a row have failed, so controllers, scheduler and manifests are off for 2 minutes",
    )
    await until(last, "/api/v1/namespaces/default/events", (body) => body.includes("ControllersOff"))
    const authorization = `Bearer ${last.token}`
    for (const name of ["a", "b", "c", "d", "e"])
      expect((await last.raw("DELETE", `${DEPLOYMENTS}/${name}`, { authorization })).status).toBe(200)
    // and when the objects are gone, the next start has them on again
    await last.kill("SIGTERM")
    const again = await start()
    await again.send("POST", DEPLOYMENTS, deployment("good", 1))
    await until(again, REPLICA_SETS, (body) => body.includes("good-"))
  }, 60_000)
})
