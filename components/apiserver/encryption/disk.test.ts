import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { createLogger, silent } from "../../../pkg/log/log.ts"
import { openSqlite } from "../../../pkg/runtime/sqlite.ts"
import { checkStore } from "../../../pkg/storage/sqlite/check.ts"
import { rowSum, COLUMNS, type Row } from "../../../pkg/storage/sqlite/format.ts"
import type { Storage, Write } from "../../../pkg/storage/storage.ts"
import { openStorage } from "../store/open-storage.ts"
import type { OpenedStorage } from "../store/storage-config.ts"
import { filesWith, PROVIDERS } from "./encryption.fixtures.ts"
import { loadEncryption, type EncryptionConfig } from "./load.ts"

let dir: string
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), "k3ts-encryption-"))))
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const TOOLS = { clock: realClock, random: systemRandom, log: silent }
const SECRETS = "/registry/core/secrets/default/"
const database = () => join(dir, "db/state.db")
const keyFile = () => join(dir, "cred/encryption-config.json")

/** Opens a store below `dir`, and records its log. */
async function open(encryption?: Partial<EncryptionConfig>) {
  const lines: string[] = []
  const waiting: { readonly text: string; resolve(): void }[] = []
  const write = (line: string) => {
    lines.push(line)
    for (const { text, resolve } of waiting) if (line.includes(text)) resolve()
  }
  const log = createLogger({ clock: realClock, format: "text", level: "info", write })
  const opened = await openStorage(
    dir,
    { clock: realClock, random: systemRandom, log },
    { frozen: true, encryption: { secrets: false, provider: "secretbox", ...encryption } },
  )
  return {
    ...opened,
    lines,
    /** Resolves when a line with this text has been logged once more. */
    logged: (text: string) => new Promise<void>((resolve) => void waiting.push({ text, resolve })),
    async close() {
      await opened.stop()
      opened.storage.close()
    },
  }
}

const REWRITTEN = "Rewrote the values on the disk"
const change = async (opened: OpenedStorage, what: "enable" | "disable" | "rotateKeys") =>
  (await opened.encryption!())[what]()

const write = (key: string, data: string | null, more: Partial<Write> = {}): Write => {
  const [, , group, , namespace, name = ""] = key.split("/")
  const object = {
    apiVersion: group === "core" ? "v1" : group!,
    kind: "Any",
    metadata: { name, namespace: namespace! },
    data: { value: data },
  }
  return {
    key,
    object: data === null ? null : object,
    expected: undefined,
    time: realClock.now(),
    author: "test",
    ...more,
  }
}
const dataOf = (storage: Storage, name: string) =>
  (storage.get(`${SECRETS}${name}`)?.object as { readonly data?: { readonly value: string } } | undefined)?.data?.value

/** Texts that stand in no other place. Long enough for pages of their own too. */
const NEEDLE = "needle-in-the-haystack"

/** Secrets that are there, that were changed, and that were deleted, with their history and freed pages. */
async function fill(storage: Storage): Promise<void> {
  const writeSome = (step: number, data: (i: number) => string | null) =>
    Promise.all(
      Array.from({ length: 60 / step }, (_, n) => storage.write(write(`${SECRETS}s${n * step}`, data(n * step)))),
    )
  await writeSome(1, (i) => `${NEEDLE}-${i}-`.repeat(1 + i * 10))
  await writeSome(2, (i) => `${NEEDLE}-changed-${i}`)
  await writeSome(3, () => null)
  for (let i = 0; i < 3; i++)
    await storage.write(write("/registry/core/configmaps/default/c", `open-text-${i}`, { highChurn: true }))
}

describe.each(PROVIDERS)("Secrets that are encrypted by %s", (provider) => {
  test("appear nowhere on the disk, even if they were written, changed or deleted before encryption was enabled", async () => {
    // given a store with Secrets, which are in its files
    const plain = await open()
    await fill(plain.storage)
    expect(filesWith(dir, NEEDLE)).toContain(`${database()}-wal`)
    await plain.close()
    expect(filesWith(dir, NEEDLE)).toEqual([database()])
    // when it is opened with encryption
    const store = await open({ secrets: true, provider })
    const done = store.logged(REWRITTEN)
    await store.storage.write(write(`${SECRETS}new`, `${NEEDLE}-new`))
    await done
    await store.storage.write(write(`${SECRETS}later`, `${NEEDLE}-later`))
    // then no file has their bytes, neither while it is open nor afterwards, and all is there
    expect(filesWith(dir, NEEDLE)).toEqual([])
    expect(filesWith(dir, "open-text-2")).not.toEqual([])
    await store.close()
    expect(filesWith(dir, NEEDLE)).toEqual([])
    expect(filesWith(dir, `k8s:enc:${provider}:v1:${provider}key-`)).toEqual([database()])
    const again = await open()
    expect(dataOf(again.storage, "s2")).toBe(`${NEEDLE}-changed-2`)
    expect(dataOf(again.storage, "later")).toBe(`${NEEDLE}-later`)
    expect(again.storage.history(`${SECRETS}s2`)).toHaveLength(2)
    expect(again.storage.since(0, SECRETS).length).toBeGreaterThan(100)
    expect(again.lines).toEqual([])
    await again.close()
  })

  test("are rewritten with another key after a rotation, without a change that a client sees", async () => {
    // given
    const store = await open({ secrets: true, provider })
    await fill(store.storage)
    const [before] = (readFileSync(keyFile(), "utf8").match(/[^"]+key-[^"]+/g) ?? []) as [string]
    const { revision } = store.storage
    // when
    const done = store.logged(REWRITTEN)
    await change(store, "rotateKeys")
    await store.storage.write(write(`${SECRETS}meanwhile`, NEEDLE))
    await done
    // then
    const encryption = await store.encryption!()
    expect(encryption.status()).toMatchObject({ stage: "reencrypt_finished", enable: true, inactivekeys: [] })
    expect(store.storage.revision).toBe(revision + 1)
    await store.close()
    const keys = JSON.parse(readFileSync(keyFile(), "utf8")).resources[0].providers[0][provider].keys as unknown[]
    expect(keys).toHaveLength(1)
    const secretOf = (text: string) => /"secret": "([^"]+)"/.exec(text)![1]!
    expect(filesWith(dir, NEEDLE)).toEqual([])
    expect(secretOf(readFileSync(keyFile(), "utf8"))).toHaveLength(44)
    expect(before).toStartWith(`${provider}key-`)
    const again = await open()
    expect(dataOf(again.storage, "s2")).toBe(`${NEEDLE}-changed-2`)
    expect(dataOf(again.storage, "meanwhile")).toBe(NEEDLE)
    await again.close()
  })
})

describe("encryption at rest", () => {
  test("can be disabled and enabled again while the server runs", async () => {
    const store = await open()
    await store.storage.write(write(`${SECRETS}a`, NEEDLE))
    for (const [what, wants] of [
      ["enable", false],
      ["disable", true],
      ["enable", false],
    ] as const) {
      const done = store.logged(REWRITTEN)
      await change(store, what)
      await done
      expect(filesWith(dir, NEEDLE).length > 0).toBe(wants)
      expect(dataOf(store.storage, "a")).toBe(NEEDLE)
    }
    await store.close()
  })

  test("changes to the newly configured provider at the next rotation of keys", async () => {
    const before = await open({ secrets: true, provider: "aescbc" })
    const written = before.logged(REWRITTEN)
    await before.storage.write(write(`${SECRETS}a`, NEEDLE))
    await written
    await before.close()
    expect(filesWith(dir, "k8s:enc:aescbc:v1:")).toEqual([database()])
    const store = await open({ secrets: true, provider: "aesgcm" })
    const done = store.logged(REWRITTEN)
    await change(store, "rotateKeys")
    await done
    expect((await store.encryption!()).status()).toMatchObject({
      activekey: expect.stringMatching(/^AES-GCM aesgcmkey-/) as string,
      inactivekeys: [],
    })
    await store.close()
    expect(filesWith(dir, "k8s:enc:aescbc:v1:")).toEqual([])
    const again = await open()
    expect(dataOf(again.storage, "a")).toBe(NEEDLE)
    await again.close()
  })

  test("continues at the next start if the server was killed while it rewrote the store", async () => {
    // given a store whose keys are being rotated, copied as a kill would leave it
    const store = await open({ secrets: true })
    await fill(store.storage)
    const done = store.logged(REWRITTEN)
    await change(store, "rotateKeys")
    const keys = readFileSync(keyFile(), "utf8")
    const [copy, wal] = [join(dir, "copy"), join(dir, "copy-wal")]
    copyFileSync(database(), copy)
    copyFileSync(`${database()}-wal`, wal)
    await done
    await store.close()
    const now = readFileSync(keyFile(), "utf8")
    copyFileSync(copy, database())
    copyFileSync(wal, `${database()}-wal`)
    await Bun.write(keyFile(), keys)
    await Bun.write(join(dir, "cred/encryption-state.json"), '{"stage":"reencrypt_active"}')
    // when
    const again = await open()
    await again.logged(REWRITTEN)
    // then only the new key is left
    await again.close()
    expect(keys.match(/"secret"/g)).toHaveLength(2)
    expect(readFileSync(keyFile(), "utf8")).toBe(now)
    const third = await open()
    expect(dataOf(third.storage, "s2")).toBe(`${NEEDLE}-changed-2`)
    await third.close()
  })

  test("encrypts plain values at the start that were restored from an older snapshot", async () => {
    // given the keys of a store, and the same store as it was before
    const plain = await open()
    await plain.storage.write(write(`${SECRETS}a`, NEEDLE))
    await plain.close()
    const saved = readFileSync(database())
    const encrypted = await open({ secrets: true })
    await encrypted.logged(REWRITTEN)
    await encrypted.close()
    // when
    await Bun.write(database(), saved)
    const restored = await open()
    await restored.logged(REWRITTEN)
    // then
    expect(filesWith(dir, NEEDLE)).toEqual([])
    expect(dataOf(restored.storage, "a")).toBe(NEEDLE)
    await restored.close()
  })

  test("does not prevent a check of the store, with the keys and without them", async () => {
    const store = await open({ secrets: true })
    await store.storage.write(write(`${SECRETS}a`, NEEDLE))
    await store.storage.write(write("/registry/core/configmaps/default/c", "open"))
    await store.close()
    const keys = () => loadEncryption(dir, { secrets: false, provider: "secretbox" }, TOOLS)
    expect(checkStore(database())).toMatchObject({ problems: [], rows: 2, sealed: 1 })
    expect(checkStore(database(), (await keys())?.transformer)).toMatchObject({ problems: [], rows: 2, sealed: 1 })
    await Bun.write(keyFile(), readFileSync(keyFile(), "utf8").replace(/"secret": ".{8}/, '"secret": "AAAAAAAA'))
    const { problems } = checkStore(database(), (await keys())?.transformer)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain("was not encrypted with this key")
  })

  test("changes the store's format, so that versions without encryption refuse the store and do not take it for damaged", async () => {
    const formatOf = () => {
      const db = openSqlite(database())
      const [[format]] = db.prepare<readonly [number]>("PRAGMA user_version").rows() as [readonly [number]]
      db.close()
      return format
    }
    const plain = await open()
    await plain.close()
    expect(formatOf()).toBe(2)
    const store = await open({ secrets: true })
    await store.close()
    expect(formatOf()).toBe(3)
  })

  test("stores its keys in a file that only root can read", async () => {
    const store = await open({ secrets: true })
    await store.close()
    expect([statSync(keyFile()).mode & 0o777, statSync(join(dir, "cred")).mode & 0o777]).toEqual([0o600, 0o700])
  })

  test.each([
    {
      title: "lost",
      harm: () => rmSync(keyFile()),
      wants: "identity transformer tried to read encrypted data",
    },
    {
      title: "a different one",
      harm: () =>
        void Bun.write(keyFile(), readFileSync(keyFile(), "utf8").replace(/"secret": ".{8}/, '"secret": "AAAAAAAA')),
      wants: "was not encrypted with this key",
    },
  ])(
    "reports that the key is $title, serves all other objects, and changes nothing on the disk",
    async ({ harm, wants }) => {
      // given an encrypted Secret beside a ConfigMap
      const store = await open({ secrets: true })
      await store.storage.write(write(`${SECRETS}a`, NEEDLE))
      await store.storage.write(write("/registry/core/configmaps/default/c", "open"))
      await store.close()
      const keys = readFileSync(keyFile())
      // when
      harm()
      const broken = await open()
      // then
      expect(broken.lines.join()).toContain(`unable to transform key \\"${SECRETS}a\\"`)
      expect(broken.lines.join()).toContain(wants)
      expect(broken.storage.get("/registry/core/configmaps/default/c")?.object).toMatchObject({
        data: { value: "open" },
      })
      expect(() => broken.storage.get(`${SECRETS}a`)?.object).toThrow(wants)
      expect(() => broken.storage.since(0)).toThrow(wants)
      const refused = broken.storage.write(write(`${SECRETS}a`, "other")).catch((err: unknown) => String(err))
      expect(await refused).toContain("unable to transform key")
      // and a snapshot has the value as it stands on the disk
      const image = broken.storage.image()
      const secret = image.objects.find(({ key }) => key === `${SECRETS}a`)!
      expect(Buffer.from(image.valueOf(secret)).toString()).toStartWith("k8s:enc:")
      await broken.storage.write(write("/registry/core/configmaps/default/d", "open"))
      await broken.close()
      // and with the key all is there
      await Bun.write(keyFile(), keys)
      const mended = await open()
      expect(dataOf(mended.storage, "a")).toBe(NEEDLE)
      await mended.close()
    },
  )

  test.each(PROVIDERS)("reports values that were swapped on the disk (%s)", async (provider) => {
    // given two Secrets
    const store = await open({ secrets: true, provider })
    await store.storage.write(write(`${SECRETS}mine`, "harmless"))
    await store.storage.write(write(`${SECRETS}root`, NEEDLE))
    await store.close()
    // when somebody swaps their values, and mends the checksums
    const db = openSqlite(database())
    const [one, two] = db.prepare<Row>(`SELECT ${COLUMNS} FROM log ORDER BY rev`).rows() as [Row, Row]
    for (const [row, value] of [
      [one, two[8]],
      [two, one[8]],
    ] as const) {
      const changed = row.with(8, value) as unknown as Row
      db.prepare("UPDATE log SET value = ?, sum = ? WHERE rev = ?").run(value, rowSum(changed), row[0])
    }
    db.close()
    // then
    const again = await open()
    for (const name of ["mine", "root"]) expect(() => dataOf(again.storage, name)).toThrow("unable to transform key")
    await again.close()
  })
})
