import { afterEach, beforeEach, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { createLogger } from "../../../pkg/log/log.ts"
import { Registry } from "../../../pkg/metrics/registry.ts"
import { watchFolder } from "../../../pkg/process/watch-folder.ts"
import { openStorage } from "../store/open-storage.ts"
import { filesWith, secret } from "./encryption.fixtures.ts"
import { FakeKms } from "./kms/fake-kms.fixtures.ts"
import { serveKms } from "./kms/serve-kms.fixtures.ts"

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "k3ts-reloading-"))
  mkdirSync(join(dir, "etc"))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const LOADED = "Loaded the changed encryption configuration"
const FAILED = "Failed to load the changed encryption configuration"
const RELOADS = "apiserver_encryption_config_controller_automatic_reloads_total"
const KEY = "/registry/core/secrets/default/a"

const file = () => join(dir, "etc/encryption.yaml")
const keyed = (name: string) => ({ aesgcm: { keys: [{ name, secret: secret(32, name.length) }] } })
const plugin = (name: string) => ({
  kms: { apiVersion: "v2", name, endpoint: `unix://${join(dir, `${name}.sock`)}`, timeout: "1s" },
})

/** Replaces the file by a rename, as careful administrators do, so that no reader sees half of the file. */
function configure(...providers: readonly object[]): void {
  const configuration = {
    kind: "EncryptionConfiguration",
    apiVersion: "apiserver.config.k8s.io/v1",
    resources: [{ resources: ["secrets"], providers }],
  }
  writeFileSync(`${file()}.new`, JSON.stringify(configuration))
  renameSync(`${file()}.new`, file())
}

async function open(isReloaded = true) {
  const waiting: { readonly text: string; resolve(line: string): void }[] = []
  const write = (line: string) => waiting.filter(({ text }) => line.includes(text)).forEach((one) => one.resolve(line))
  const registry = new Registry()
  const opened = await openStorage(
    join(dir, "server"),
    {
      clock: realClock,
      random: systemRandom,
      log: createLogger({ clock: realClock, format: "text", level: "info", write }),
      registry,
    },
    { encryption: { secrets: false, provider: "secretbox", file: file(), isReloaded } },
  )
  return {
    ...opened,
    /** Resolves with the next line of the log that has this text. */
    logged: (text: string) => new Promise<string>((resolve) => void waiting.push({ text, resolve })),
    write: (value: string) =>
      opened.storage.write({
        key: KEY,
        object: { apiVersion: "v1", kind: "Secret", metadata: { name: "a" }, data: { value } } as never,
        expected: undefined,
        time: 0,
        author: "test",
      }),
    values: () => opened.storage.history(KEY).map(({ stored }) => (stored.object as never as Data).data.value),
    metrics: (name: string) =>
      registry
        .text()
        .split("\n")
        .filter((line) => line.startsWith(name))
        .map((line) => line.replace(/(id_hash|hash)="sha256:[0-9a-f]*"/g, '$1="…"')),
    async close() {
      await opened.stop()
      opened.storage.close()
    },
  }
}
interface Data {
  readonly data: { readonly value: string }
}

test("a changed configuration is applied without a restart, and values from before stay readable", async () => {
  // given
  configure(keyed("first"))
  const store = await open()
  await store.write("one")
  // when
  const loaded = store.logged(LOADED)
  configure(keyed("other"), keyed("first"))
  await loaded
  await store.write("two")
  // then
  expect(filesWith(dir, "k8s:enc:aesgcm:v1:other:")).toEqual([join(dir, "server/db/state.db-wal")])
  expect(store.values()).toEqual(["one", "two"])
  expect(store.metrics(RELOADS)).toEqual([`${RELOADS}{status="success",apiserver_id_hash="…"} 1`])
  expect(store.metrics("apiserver_encryption_config_controller_last_config_info")).toHaveLength(1)
  const prefix = "k8s:enc:aesgcm:v1:"
  const operations = "apiserver_storage_transformation_operations_total"
  expect(store.metrics(operations)).toContain(
    `${operations}{resource="secrets",status="OK",transformation_type="to_storage",transformer_prefix="${prefix}"} 2`,
  )
  await store.close()
})

test("a configuration that cannot be used is counted in a metric, and the last valid one applies until it is corrected", async () => {
  // given
  configure(keyed("first"))
  const store = await open()
  // when
  const failed = store.logged(FAILED)
  configure({ aesgcm: { keys: [] } })
  // then
  expect(await failed).toContain("resources[0].providers[0].aesgcm.keys: Required value: at least one")
  await store.write("one")
  expect(filesWith(dir, "k8s:enc:aesgcm:v1:first:")).not.toEqual([])
  expect(store.metrics(RELOADS)[0]).toStartWith(`${RELOADS}{status="failure",apiserver_id_hash="…"}`)
  const loaded = store.logged(LOADED)
  configure(keyed("other"), keyed("first"))
  await loaded
  await store.close()
})

test("a KMS plugin can replace another without a restart, and values of the other stay readable", async () => {
  // given
  const before = await serveKms(new FakeKms(), join(dir, "before.sock"))
  const after = await serveKms(new FakeKms(), join(dir, "after.sock"))
  configure(plugin("before"))
  const store = await open()
  await store.write("one")
  // when
  const loaded = store.logged(LOADED)
  configure(plugin("after"), plugin("before"))
  await loaded
  await store.write("two")
  // then
  expect(filesWith(dir, "k8s:enc:kms:v2:after:")).not.toEqual([])
  expect(store.values()).toEqual(["one", "two"])
  expect(store.kmsProblem!()).toBeUndefined()
  expect(store.metrics("apiserver_envelope_encryption_key_id_hash_total")).toContain(
    'apiserver_envelope_encryption_key_id_hash_total{transformation_type="to_storage",provider_name="after",' +
      'key_id_hash="…",apiserver_id_hash="…"} 1',
  )
  await store.close()
  before.forceShutdown()
  after.forceShutdown()
})

test("without the flag, a changed configuration is applied only at a restart", async () => {
  // given
  configure(keyed("first"))
  const store = await open(false)
  // when the file changes, and the kernel has told of a later change of the same folder
  const changed = Promise.withResolvers<void>()
  const end = watchFolder(join(dir, "etc"), (name) => name === "later" && changed.resolve(), {
    clock: realClock,
    mode: 0o700,
  })
  configure(keyed("other"))
  writeFileSync(join(dir, "etc/later"), "")
  await changed.promise
  end()
  await store.write("one")
  // then
  expect(filesWith(dir, "k8s:enc:aesgcm:v1:first:")).not.toEqual([])
  expect(store.metrics(RELOADS)).toEqual([])
  await store.close()
})
