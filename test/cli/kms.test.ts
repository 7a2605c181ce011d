import { expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { filesWith } from "../../components/apiserver/encryption/encryption.fixtures.ts"
import { FakeKms } from "../../components/apiserver/encryption/kms/fake-kms.fixtures.ts"
import { serveKms } from "../../components/apiserver/encryption/kms/serve-kms.fixtures.ts"
import { startServer } from "./k3ts.ts"

test("a server encrypts everything with a KMS plugin, and has a health check for the plugin", async () => {
  // given
  const dir = mkdtempSync(join(tmpdir(), "k3ts-kms-"))
  const [socket, file] = [join(dir, "kms.sock"), join(dir, "encryption.json")]
  const kms = { apiVersion: "v2", name: "vault", endpoint: `unix://${socket}`, timeout: "1s" }
  const rule = { resources: ["*.*"], providers: [{ kms }, { identity: {} }] }
  const head = { kind: "EncryptionConfiguration", apiVersion: "apiserver.config.k8s.io/v1" }
  writeFileSync(file, JSON.stringify({ ...head, resources: [rule] }))
  const plugin = await serveKms(new FakeKms(), socket)
  const flags = ["--encryption-provider-config", file]
  // when it has started twice
  const first = await startServer({ flags, keep: true })
  await first[Symbol.asyncDispose]()
  await using server = await startServer({ dataDir: first.dataDir, flags })
  // then
  for (const path of ["/livez/kms-providers", "/readyz/kms-providers"])
    expect(await server.get(path)).toEqual({ status: 200, body: "ok" })
  const folder = join(server.dataDir, "server/db")
  expect(filesWith(folder, "k8s:enc:kms:v2:vault:")).not.toEqual([])
  expect(filesWith(folder, '"apiVersion":"')).toEqual([])
  plugin.forceShutdown()
  rmSync(dir, { recursive: true, force: true })
})
