/** An object that ends the server is set aside, and everything else goes on. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { EXECUTABLE, startServer, type TestServer } from "../harness/server.ts"
import { buildPoisoned } from "./poisoned-server.fixtures.ts"

const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
const REPLICA_SETS = "/apis/apps/v1/namespaces/default/replicasets"
const POISON = 13
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
const POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
const MERGE = "application/merge-patch+json"

const definition = (group: string) => ({
  metadata: { name: `things.${group}` },
  spec: {
    group,
    scope: "Cluster",
    names: { plural: "things", kind: "Thing" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
  },
})
/** A policy that allows every ConfigMap. */
const policy = (name: string) => ({
  metadata: { name },
  spec: {
    failurePolicy: "Fail",
    matchConstraints: {
      resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
    },
    validations: [{ expression: "true" }],
  },
})

const deployment = (name: string, replicas: number) => ({
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "c", image: "i" }] } },
  },
})

describe("a server that an object ends", () => {
  const built = mkdtempSync(join(tmpdir(), "k3ts-poisoned-"))
  beforeAll(() => buildPoisoned(join(built, "k3ts")))
  afterAll(() => rmSync(built, { recursive: true }))
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
      program: [join(built, "k3ts")],
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

  test("by a definition or an admission policy comes up without it, and all else is served", async () => {
    // given a server that a definition has ended twice, and a policy twice
    const sound = (running = await startServer({ dataDir, flags: ["--disable", "controller-manager"] }))
    await sound.send("POST", POLICIES, policy("poison"))
    await sound.send("POST", `${POLICIES.replace("policies", "policybindings")}`, {
      metadata: { name: "poison" },
      spec: { policyName: "poison", validationActions: ["Deny"] },
    })
    for (const group of ["poison", "sound"]) await sound.send("POST", DEFINITIONS, definition(`${group}.example.com`))
    await sound.kill("SIGTERM")
    const writes = async (server: TestServer) =>
      (await server.send("POST", CONFIG_MAPS, { metadata: { generateName: "a-" } })).status
    const isNamed = (health: string) =>
      ["apiextensions skips", "admission skips"].every((text) => health.includes(text))
    let server: TestServer | undefined
    let health = ""
    for (let starts = 0; starts < 8 && !isNamed(health); starts++) {
      server = await start().catch(() => undefined)
      // Writes have the policy tried, as long as the server runs.
      while (server?.alive === true && !isNamed(health)) {
        await writes(server).catch(() => undefined)
        const answer = await server.get("/readyz?verbose").catch(() => undefined)
        health = answer?.body.toString() ?? ""
      }
    }
    // then
    expect(health).toContain(
      "apiextensions skips things.poison.example.com, because the process ended twice while it was worked on",
    )
    expect(health).toContain(
      "admission skips ValidatingAdmissionPolicy/poison, because the process ended twice while it was worked on",
    )
    expect((await server!.get("/apis/sound.example.com/v1/things")).status).toBe(200)
    expect((await server!.get("/apis/poison.example.com/v1/things")).status).toBe(404)
    // and what the policy guards is refused, until an edit of the policy frees it
    expect(await writes(server!)).toBe(422)
    await server!.send("PATCH", `${POLICIES}/poison`, { spec: { failurePolicy: "Ignore" } }, MERGE)
    await Promise.all([server!.ended, writes(server!).catch(() => undefined)])
    expect(k3ts("check-data")).toContain("set aside: apiextensions skips things.poison.example.com")
  }, 60_000)
})
