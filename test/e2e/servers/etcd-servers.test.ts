/** Servers on machines of their own, each with a member of an etcd that they start. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { Client } from "../../../pkg/client/client.ts"
import { createHttpsTransport, type HttpsTransport } from "../../../pkg/client/https.ts"
import { loadKubeconfig } from "../../../pkg/client/kubeconfig.ts"
import { newClient } from "../../../pkg/client/new-client.ts"
import { AlternatingClient } from "../../harness/alternating-client.ts"
import { describeOnMachines } from "../../harness/cluster.ts"
import { hasEtcd } from "../../harness/etcd.ts"
import { startMachines, type Machine, type Machines } from "../../harness/machine.ts"
import { EXECUTABLE, startServer, type TestServer } from "../../harness/server.ts"
import { until } from "../../harness/until.ts"

/** The time in which writes must continue elsewhere, in milliseconds. */
const WORKS_AGAIN_MS = 15_000

interface Running {
  readonly server: TestServer
  readonly client: Client
}

const transports: HttpsTransport[] = []
let machines: Machines
let [a, b, c] = [] as Machine[] as [Machine, Machine, Machine]
const running = new Map<Machine, Running>()

async function start(machine: Machine, ...flags: readonly string[]): Promise<Running> {
  const server = await startServer({ machine, agent: "simulated", flags: ["--node-name", machine.name, ...flags] })
  const transport = createHttpsTransport({ config: loadKubeconfig(server.kubeconfig), userAgent: "k3ts-test/1" })
  transports.push(transport)
  const started = { server, client: newClient(transport) }
  running.set(machine, started)
  return started
}
const on = (machine: Machine): Running => running.get(machine)!
const joinFlags = () => {
  const token = readFileSync(join(a.dataDir, "server/node-token"), "utf8").trim()
  return ["--server", `https://${a.address}:6443`, "--token", token]
}
const ofDefault = (name: string) => ({ metadata: { name, namespace: "default" } })

/** Runs etcdctl with the member of a machine. */
function etcdctl(machine: Machine, ...args: readonly string[]): Promise<string> {
  const tls = join(machine.dataDir, "server/tls/etcd")
  const files = `--cacert ${tls}/server-ca.crt --cert ${tls}/client.crt --key ${tls}/client.key`
  return machine.sh(`ETCDCTL_API=3 etcdctl --endpoints https://127.0.0.1:2379 ${files} ${args.join(" ")}`)
}

/** Returns the names of the members with a vote, without the numbers of chance at their ends. */
async function voters(machine: Machine): Promise<readonly string[]> {
  const { members } = JSON.parse(await etcdctl(machine, "member", "list", "-w", "json")) as {
    members: { name: string; isLearner?: boolean }[]
  }
  return members.flatMap(({ name, isLearner }) => (isLearner === true ? [] : name.replace(/-[0-9a-f]{8}$/, ""))).sort()
}

/** Makes the member of a machine the leader. */
async function lead(machine: Machine, others: readonly Machine[]): Promise<void> {
  const status = await etcdctl(machine, "endpoint", "status", "-w", "fields")
  const [own, leader] = ["MemberID", "Leader"].map((field) =>
    BigInt(new RegExp(`"${field}" : (\\d+)`).exec(status)![1]!),
  )
  if (own === leader) return
  // Only the leader takes this.
  const moved = others.map((other) => etcdctl(other, "move-leader", own!.toString(16)).catch(() => undefined))
  expect((await Promise.all(moved)).join()).toContain("Leadership transferred")
}

const describeWithEtcd = hasEtcd ? describeOnMachines : describe.skip
describeWithEtcd("servers that run an etcd beside them", () => {
  beforeAll(async () => {
    machines = await startMachines()
    a = await machines.add("a")
    b = await machines.add("b")
    c = await machines.add("c")
  }, 30_000)
  afterAll(async () => {
    for (const transport of transports) transport.close()
    for (const { server } of running.values()) await server[Symbol.asyncDispose]()
    await machines?.[Symbol.asyncDispose]()
  }, 30_000)

  test("take over the database of a server that was alone, with UIDs and later revisions", async () => {
    // given
    const alone = await start(a)
    const made = await alone.client.create(ConfigMap, ofDefault("of-before"))
    await alone.server.kill("SIGTERM")
    // when
    const { client } = await start(a, "--cluster-init")
    // then
    const kept = await client.get(ConfigMap, ofDefault("of-before").metadata)
    expect(kept.metadata.uid).toBe(made.metadata.uid!)
    expect(Number(kept.metadata.resourceVersion)).toBeGreaterThan(Number(made.metadata.resourceVersion))
    expect(await voters(a)).toEqual(["a"])
  }, 30_000)

  test("let others join, which become members of etcd and are annotated as such at their Nodes", async () => {
    const flags = joinFlags()
    await start(b, ...flags)
    await start(c, ...flags)
    expect(await voters(c)).toEqual(["a", "b", "c"])
    await until(
      on(a).client,
      Node,
      { labelSelector: "node-role.kubernetes.io/etcd=true", fieldSelector: "metadata.name=c" },
      ({ metadata }) => metadata.annotations?.["etcd.k3ts.io/node-name"]?.startsWith("c-") === true,
      10_000,
    )
    expect(await on(c).client.get(ConfigMap, ofDefault("of-before").metadata)).toBeDefined()
  }, 60_000)

  test("lose no acknowledged write when one loses power, accept writes within seconds, and let it join again", async () => {
    // given
    const acknowledged: string[] = []
    let writing = true
    const write = async (machine: Machine) => {
      for (let i = 0; writing; i++) {
        const name = `${machine.name}-${i}`
        const done = await on(machine)
          .client.create(ConfigMap, ofDefault(name))
          .then(
            () => true,
            () => false,
          )
        if (done) acknowledged.push(name)
        else if (machine === a) return
      }
    }
    const writers = [a, b, c].map(write)
    await until(on(b).client, ConfigMap, { namespace: "default" }, ({ metadata }) => metadata.name === "a-20", 20_000)
    // when
    await a.powerOff()
    const since = performance.now()
    await untilWritten(on(b).client, "after-the-loss")
    expect(performance.now() - since).toBeLessThan(WORKS_AGAIN_MS)
    writing = false
    await Promise.all(writers)
    // then
    await a.powerOn()
    await start(a, "--cluster-init")
    for (const machine of [a, b, c]) {
      const { items } = await on(machine).client.list(ConfigMap, { namespace: "default" })
      const names = new Set(items.map(({ metadata }) => metadata.name))
      expect(acknowledged.filter((name) => !names.has(name))).toEqual([])
    }
  }, 60_000)

  test("remove the member of a deleted Node while others write, even if it leads, and let it join again later", async () => {
    // given
    await lead(c, [a, b])
    let isOver = false
    const failed: string[] = []
    const write = async () => {
      for (let i = 0; !isOver; i++)
        await on(a)
          .client.create(ConfigMap, ofDefault(`meanwhile-${i}`))
          .catch((err: Error) => failed.push(err.message))
    }
    const writing = write()
    // when
    await on(b).client.delete(Node, { name: "c" })
    // then
    expect(await on(c).server.ended).toBe(1)
    expect(on(c).server.output()).toContain("The cluster has removed this server from its etcd")
    expect(await voters(a)).toEqual(["a", "b"])
    await start(c, ...joinFlags())
    expect(await voters(a)).toEqual(["a", "b", "c"])
    isOver = true
    await writing
    expect(failed).toEqual([])
  }, 60_000)

  test("are restarted one after the other without a failed request of clients that know all servers", async () => {
    // given
    const all = [a, b, c]
    const places = all.map(({ address }) => ({ host: address, port: 6443 }))
    const client = new AlternatingClient(places, on(a).server.token)
    const ending = new AbortController()
    const working = Array.from({ length: 4 }, (_, i) => client.run(`rolling-${i}`, ending.signal))
    await client.untilAnswered(50)
    // when; the leader among them
    for (const machine of all) {
      expect(await on(machine).server.kill("SIGTERM")).toBe(0)
      await start(machine)
      await client.untilAnswered(client.answered + 50)
    }
    ending.abort()
    await Promise.all(working)
    client.close()
    // then
    expect(client.failures).toEqual([])
  }, 60_000)

  test("report that a majority is missing, and continue as a single server after a reset", async () => {
    // given
    const before = await on(a).client.create(ConfigMap, ofDefault("before-the-loss"))
    for (const machine of [b, c]) await machine.powerOff()
    // when
    const failed = await writesFail(on(a).client)
    const readiness = await on(a).server.get("/readyz?verbose")
    // then
    expect(failed).toContain("etcd has no majority")
    expect(readiness.body.toString()).toContain("--cluster-reset")
    expect(await on(a).client.get(ConfigMap, before.metadata as { name: string })).toBeDefined()
    // when
    await on(a).server.kill("SIGKILL")
    await expect(start(a, "--cluster-reset")).rejects.toThrow(/ended with code 0:[^]*The cluster has one server again/)
    const alone = await start(a, "--cluster-init")
    // then
    const after = await alone.client.get(ConfigMap, before.metadata as { name: string })
    expect(after.metadata.uid).toBe(before.metadata.uid!)
    expect(Number(after.metadata.resourceVersion)).toBeGreaterThan(Number(before.metadata.resourceVersion))
    expect(await voters(a)).toEqual(["a"])
    // and another one joins it again
    rmSync(join(b.dataDir, "server/db"), { recursive: true })
    await b.powerOn()
    await start(b, ...joinFlags())
    expect(await voters(b)).toEqual(["a", "b"])
  }, 90_000)

  test("start again from a snapshot that another server has saved, and others join that cluster", async () => {
    // given
    const kept = await on(a).client.create(ConfigMap, ofDefault("in-the-snapshot"))
    const saved = await b.sh(`${EXECUTABLE} snapshot save --config /dev/null --data-dir ${b.dataDir}`)
    const late = await on(a).client.create(ConfigMap, ofDefault("after-the-snapshot"))
    for (const machine of [a, b]) await on(machine).server.kill("SIGTERM")
    // when
    const snapshot = new URL(saved.trim()).pathname
    const reset = start(a, "--cluster-reset", "--cluster-reset-restore-path", snapshot)
    await expect(reset).rejects.toThrow(/ended with code 0:[^]*The cluster has one server again/)
    const { client } = await start(a)
    // then
    const { items, metadata } = await client.list(ConfigMap, { namespace: "default" })
    const names = items.map((item) => item.metadata.name)
    expect(items.find((item) => item.metadata.name === "in-the-snapshot")?.metadata.uid).toBe(kept.metadata.uid!)
    expect(names).not.toContain("after-the-snapshot")
    expect(Number(metadata.resourceVersion)).toBeGreaterThan(Number(late.metadata.resourceVersion))
    expect(await voters(a)).toEqual(["a"])
    // and another one joins it
    rmSync(join(b.dataDir, "server/db"), { recursive: true })
    await start(b, ...joinFlags())
    expect(await voters(b)).toEqual(["a", "b"])
    expect((await on(b).client.get(ConfigMap, ofDefault("in-the-snapshot").metadata)).metadata.uid).toBe(
      kept.metadata.uid!,
    )
  }, 90_000)
})

/** Writes an object, and repeats the write while the server refuses it. */
async function untilWritten(client: Client, name: string): Promise<void> {
  for (;;) {
    const code = await client.create(ConfigMap, ofDefault(name)).then(
      () => 201,
      (err: unknown) => (err instanceof ApiError ? err.code : 500),
    )
    if (code === 201 || code === 409) return
  }
}

/** Writes until a write fails because there is no majority. Resolves to the message of the failure. */
async function writesFail(client: Client): Promise<string> {
  for (let i = 0; ; i++) {
    const message = await client.create(ConfigMap, ofDefault(`in-vain-${i}`)).then(
      () => "",
      (err: Error) => err.message,
    )
    if (message.includes("no leader")) return message
  }
}
