/** What a server says when its database cannot be moved to etcd is done here as an administrator would. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describeOnMachines } from "../../harness/cluster.ts"
import { hasEtcd } from "../../harness/etcd.ts"
import { startMachines, type Machine, type Machines } from "../../harness/machine.ts"
import { EXECUTABLE, startServer, type TestServer } from "../../harness/server.ts"

const SECRETS = "/api/v1/namespaces/default/secrets"
const secret = { metadata: { name: "kept" }, stringData: { password: "p4ss" } }

const describeWithEtcd = hasEtcd ? describeOnMachines : () => undefined
describeWithEtcd("a database that moves to etcd", () => {
  let machines: Machines
  let machine: Machine
  let running: TestServer | undefined
  const start = async (...flags: readonly string[]) => (running = await startServer({ machine, flags }))
  const stop = async () => {
    await running?.[Symbol.asyncDispose]()
    running = undefined
  }
  beforeAll(async () => {
    machines = await startMachines()
    machine = await machines.add("mover")
  }, 30_000)
  afterAll(async () => {
    await stop()
    await machines?.[Symbol.asyncDispose]()
  }, 30_000)

  test("is refused while this server alone can read its Secrets, and the advice leads to the end", async () => {
    // given
    const own = join(machine.dataDir, "server/cred/encryption-config.json")
    expect((await (await start("--secrets-encryption")).send("POST", SECRETS, secret)).status).toBe(201)
    await stop()
    // when
    await expect(start("--cluster-init")).rejects.toThrow(
      /Cannot move the database to etcd:[^]*Start without --cluster-init and --secrets-encryption, run `k3ts secrets-encrypt disable`, stop the server when `k3ts secrets-encrypt status` shows the stage reencrypt_finished, remove that file/,
    )
    // then
    expect(existsSync(join(machine.dataDir, "server/db/etcd"))).toBe(false)
    // when the advice is followed
    const server = await start()
    const encrypt = (verb: string) =>
      machine.sh(`${EXECUTABLE} secrets-encrypt ${verb} --config /dev/null --data-dir ${machine.dataDir}`)
    await encrypt("disable")
    while (!(await encrypt("status")).includes("reencrypt_finished")) await Bun.sleep(20)
    expect((await server.get(`${SECRETS}/kept`)).status).toBe(200)
    await stop()
    rmSync(own)
    // then
    const moved = await start("--cluster-init")
    expect((await moved.get(`${SECRETS}/kept`)).body.toString()).toContain(btoa(secret.stringData.password))
  }, 60_000)

  test("starts again at once after a kill of the server and of its etcd", async () => {
    // when
    await machine.sh("pkill -KILL etcd")
    process.kill(running!.pid, "SIGKILL")
    // then
    expect((await (await start()).get(`${SECRETS}/kept`)).status).toBe(200)
    await stop()
  }, 60_000)

  test("is used where a move was killed half way, until --cluster-init is given again", async () => {
    // given a database beside the folder of an etcd that has not been filled
    const db = join(machine.dataDir, "server/db")
    rmSync(join(machine.dataDir, "server"), { recursive: true })
    await (await start()).send("POST", SECRETS, secret)
    await stop()
    mkdirSync(join(db, "etcd"))
    writeFileSync(join(db, "etcd/filling"), "")
    // then
    expect((await (await start()).get(`${SECRETS}/kept`)).status).toBe(200)
    await stop()
    expect((await (await start("--cluster-init")).get(`${SECRETS}/kept`)).status).toBe(200)
    expect(existsSync(join(db, "state.db.migrated"))).toBe(true)
  }, 60_000)
})
