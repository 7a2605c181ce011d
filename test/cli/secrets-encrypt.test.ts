import { expect, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { request } from "node:https"
import { join } from "node:path"
import { k3ts, startServer, type TestServer } from "./k3ts.ts"

const SECRETS = "/api/v1/namespaces/default/secrets"

/** What is in the database and the log of its changes. */
const onDisk = (server: TestServer): string =>
  readdirSync(join(server.dataDir, "server/db"))
    .map((name) => readFileSync(join(server.dataDir, "server/db", name), "latin1"))
    .join("")

const command = (server: TestServer, ...words: readonly string[]) =>
  k3ts([
    "secrets-encrypt",
    ...words,
    "--config=/dev/null",
    `--data-dir=${server.dataDir}`,
    "--bind-address=127.0.0.1",
    `--https-listen-port=${server.port}`,
  ])

const create = (server: TestServer, name: string, value: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const sent = request(
      {
        host: "127.0.0.1",
        port: server.port,
        path: SECRETS,
        method: "POST",
        rejectUnauthorized: false,
        agent: false,
        headers: { authorization: `Bearer ${server.token}`, "content-type": "application/json" },
      },
      (answer) => {
        answer.resume()
        answer.on("end", () => resolve(answer.statusCode ?? 0))
      },
    )
    sent.on("error", reject)
    sent.end(
      JSON.stringify({
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name },
        data: { password: Buffer.from(value).toString("base64") },
      }),
    )
  })

const finished = (server: TestServer) =>
  server.eventually("/v1-k3ts/encrypt/status", (body) => body.includes('"reencrypt_finished"'))

test("k3ts secrets-encrypt enables encryption and rotates the keys of a running server", async () => {
  // given a server with a Secret, which is on its disk
  const needle = Buffer.from("hunter2-hunter2").toString("base64")
  await using server = await startServer()
  await create(server, "a", "hunter2-hunter2")
  expect(onDisk(server)).toContain(needle)
  expect((await command(server, "status")).stdout).toBe("Encryption Status: Disabled, no configuration file found\n")
  expect(await command(server, "rotate-keys")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("k3ts secrets-encrypt enable first") as string,
  })

  // when
  expect(await command(server, "enable")).toMatchObject({ code: 0, stdout: "secrets-encryption enabled\n" })
  await finished(server)

  // then
  expect(onDisk(server)).not.toContain(needle)
  const before = (await command(server, "status")).stdout
  expect(before).toMatch(
    /^Encryption Status: Enabled\nCurrent Rotation Stage: reencrypt_finished\n\nActive +Key Type +Name\n\* +XSalsa20-POLY1305 +secretboxkey-\S+\n$/,
  )
  expect(await server.get(`${SECRETS}/a`)).toMatchObject({
    status: 200,
    body: expect.stringContaining(needle) as string,
  })

  // when the key is changed
  expect(await command(server, "rotate-keys")).toMatchObject({
    code: 0,
    stdout: "keys rotated, reencryption started\n",
  })
  await finished(server)
  // then nobody without rights sees or changes anything of it
  expect((await server.get("/v1-k3ts/encrypt/status", "")).status).toBe(401)
  expect((await server.get("/v1-k3ts/encrypt/config")).status).toBe(405)
  expect(await command(server, "prepare")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("run k3ts secrets-encrypt rotate-keys") as string,
  })
})

test("a server starts with --encryption-provider-config, and refuses an incomplete file", async () => {
  const dataDir = (
    await startServer({ keep: true }).then(async (server) => {
      await server[Symbol.asyncDispose]()
      return server
    })
  ).dataDir
  const file = join(dataDir, "encryption.yaml")
  const text = `
kind: EncryptionConfiguration
apiVersion: apiserver.config.k8s.io/v1
resources:
- resources: ['*.*']
  providers:
  - aescbc: {keys: [{name: mine, secret: ${Buffer.alloc(32, 7).toString("base64")}}]}
  - identity: {}
`
  await Bun.write(file, text.slice(0, -40))
  const flags = ["--encryption-provider-config", file]
  const refused = startServer({ dataDir, flags, keep: true }).then(
    () => "started",
    (err: unknown) => String(err),
  )
  expect(await refused).toContain("error while parsing file: error decoding encryption provider configuration file")

  await Bun.write(file, text)
  await using server = await startServer({ dataDir, flags })
  expect(await create(server, "a", "hunter2")).toBe(201)
  expect(onDisk(server)).toContain("k8s:enc:aescbc:v1:mine:")
  expect((await command(server, "status")).stdout).toBe(
    `Encryption Status: Enabled, by ${file}\nCurrent Rotation Stage: start\n`,
  )
  expect(await command(server, "rotate-keys")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("change that file, restart the server") as string,
  })
  // what was written before is encrypted on demand
  expect(await command(server, "reencrypt")).toMatchObject({ code: 0 })
  await finished(server)
  expect(onDisk(server)).not.toContain('"apiVersion"')
})
