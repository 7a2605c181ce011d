import { afterEach, beforeEach, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Clock, Timer } from "../../../../pkg/clock/clock.ts"
import { systemRandom } from "../../../../pkg/clock/random.ts"
import { realClock } from "../../../../pkg/clock/real.ts"
import { silent } from "../../../../pkg/log/log.ts"
import { openStorage } from "../../store/open-storage.ts"
import { filesWith } from "../encryption.fixtures.ts"
import { FakeKms } from "./fake-kms.fixtures.ts"
import { serveKms } from "./serve-kms.fixtures.ts"

let dir: string
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), "k3ts-kms-"))))
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const KEY = "/registry/core/secrets/default/a"
const NEEDLE = "needle-in-the-haystack"
const secretOf = (value: string) => ({
  key: KEY,
  object: { apiVersion: "v1", kind: "Secret", metadata: { name: "a" }, data: { value } },
  expected: undefined,
  time: 0,
  author: "test",
})

function open(timeout: string, clock: Clock = realClock) {
  const file = join(dir, "encryption.yaml")
  writeFileSync(
    file,
    `kind: EncryptionConfiguration
apiVersion: apiserver.config.k8s.io/v1
resources:
- resources: [secrets]
  providers:
  - kms: {apiVersion: v2, name: vault, endpoint: 'unix://${join(dir, "kms.sock")}', timeout: ${timeout}}
  - identity: {}
`,
  )
  return openStorage(
    join(dir, "server"),
    { clock, random: systemRandom, log: silent },
    { encryption: { secrets: false, provider: "secretbox", file } },
  )
}

test("Secrets are encrypted by a KMS plugin over its socket, and readable after restarts of the plugin and the server", async () => {
  // given
  const kms = new FakeKms()
  let plugin = await serveKms(kms, join(dir, "kms.sock"))
  let store = await open("3s")
  expect(store.kmsProblem?.()).toBeUndefined()
  // when
  await store.storage.write(secretOf(`${NEEDLE}-1`))
  await store.storage.write(secretOf(`${NEEDLE}-2`))
  // then
  expect(filesWith(join(dir, "server"), NEEDLE)).toEqual([])
  expect(filesWith(join(dir, "server"), "k8s:enc:kms:v2:vault:")).not.toEqual([])
  await store.stop()
  store.storage.close()
  plugin.forceShutdown()
  // when both have started again
  plugin = await serveKms(kms, join(dir, "kms.sock"))
  store = await open("3s")
  // then the object and its history are there
  expect(store.storage.get(KEY)?.object).toMatchObject({ data: { value: `${NEEDLE}-2` } })
  expect(store.storage.history(KEY).map(({ stored }) => (stored.object as never as { data: object }).data)).toEqual([
    { value: `${NEEDLE}-1` },
    { value: `${NEEDLE}-2` },
  ])
  await store.stop()
  store.storage.close()
  plugin.forceShutdown()
})

test("a plugin is not called any more after the store could not be opened", async () => {
  // given a file that is no store, and a clock that tells which timers are left
  const plugin = await serveKms(new FakeKms(), join(dir, "kms.sock"))
  mkdirSync(join(dir, "server/db"), { recursive: true })
  writeFileSync(join(dir, "server/db/state.db"), "no store".repeat(1000))
  const timers = new Set<Timer>()
  const clock: Clock = {
    ...realClock,
    setTimeout(run, ms, ...purpose) {
      const timer = realClock.setTimeout(run, ms, ...purpose)
      const counted = { ...timer, cancel: () => void (timer.cancel(), timers.delete(counted)) }
      timers.add(counted)
      return counted
    },
  }
  // when
  await expect(open("3s", clock)).rejects.toThrow(/damaged/)
  // then
  expect(timers.size).toBe(0)
  plugin.forceShutdown()
})

test("a plugin that does not answer delays the start by its timeout, and makes only its own values unreadable", async () => {
  // given an encrypted Secret and a plugin that hangs
  const kms = Object.assign(new FakeKms(), { isSilent: false })
  const plugin = await serveKms(kms, join(dir, "kms.sock"))
  const beforehand = performance.now()
  const before = await open("3s")
  const usual = performance.now() - beforehand
  await before.storage.write(secretOf(NEEDLE))
  await before.stop()
  before.storage.close()
  kms.isSilent = true
  // when
  const began = performance.now()
  const store = await open("100ms")
  // then
  expect(performance.now() - began).toBeLessThan(5000 + 10 * usual)
  expect(store.kmsProblem?.()).toStartWith(
    "kms-provider-0: failed to perform status section of the healthz check for KMS Provider vault, error: " +
      "rpc error: code = DeadlineExceeded",
  )
  expect(() => store.storage.get(KEY)?.object).toThrow(
    `unable to transform key "${KEY}": failed to decrypt DEK, error: rpc error: code = DeadlineExceeded`,
  )
  const other = { ...secretOf("open"), key: "/registry/core/configmaps/default/c" }
  await store.storage.write(other)
  expect(await store.storage.write({ ...secretOf("b"), key: `${KEY}b` }).catch(String)).toContain("nil transformer")
  await store.stop()
  store.storage.close()
  plugin.forceShutdown()
})
