import { describe, expect, test } from "bun:test"
import type { Cell, CellValue } from "../../../pkg/cell/cell.ts"
import { agreeOnEncryption, readersOf } from "./agreement.ts"

const SECRETS = ["MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", "ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="]
/** Returns a configuration whose providers have the keys of these numbers; 0 stands for the identity provider. */
const config = (kind: string, ...keys: readonly number[]) =>
  JSON.stringify({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "EncryptionConfiguration",
    resources: [
      {
        resources: [kind],
        providers: keys.map((key) =>
          key === 0 ? { identity: {} } : { secretbox: { keys: [{ name: `k${key}`, secret: SECRETS[key - 1] }] } },
        ),
      },
    ],
  })

function memoryCell(): Cell & { text(): string } {
  let stored: CellValue | undefined
  return {
    read: () => Promise.resolve(stored),
    write(value, revision) {
      if ((stored?.revision ?? 0) !== revision) return Promise.resolve(false)
      stored = { value, revision: revision + 1 }
      return Promise.resolve(true)
    },
    text: () => new TextDecoder().decode(stored?.value),
  }
}
const start = (cell: Cell, text: string | undefined) => agreeOnEncryption(cell, readersOf(text, "file"))

describe("servers that share a store", () => {
  const secrets = (...keys: number[]) => config("secrets", ...keys)
  const taken: { title: string; given: readonly (string | undefined)[] }[] = [
    { title: "without encryption", given: [undefined, undefined] },
    { title: "with the same keys", given: [secrets(1), secrets(1)] },
    { title: "while encryption is switched on in steps", given: [undefined, secrets(0, 1), secrets(1, 0), secrets(1)] },
    { title: "while a key is rotated in steps", given: [secrets(1), secrets(1, 2), secrets(2, 1), secrets(2)] },
  ]
  test.each(taken)("start $title", async ({ given }) => {
    const cell = memoryCell()
    for (const text of given) await start(cell, text)
  })

  test.each([
    { title: "another key", given: [secrets(1), secrets(2)], wants: "This server could not read the secrets" },
    { title: "no key", given: [secrets(1), undefined], wants: "This server could not read the secrets" },
    {
      title: "a key that the other servers do not have",
      given: [undefined, secrets(1, 0)],
      wants: "The other servers could not read the secrets that this one writes",
    },
    {
      title: "a key for one more resource",
      given: [secrets(1), config("*.*", 1)],
      wants: "This server could not read the *.* that the other servers write",
    },
  ])(
    "refuse a server that joins with $title, and keep the agreed configuration",
    async ({ given: [first, second], wants }) => {
      const cell = memoryCell()
      await start(cell, first)
      const before = cell.text()
      await expect(start(cell, second)).rejects.toThrow(wants)
      expect(cell.text()).toBe(before)
    },
  )

  test("write a hash of each key into the store, but no key", async () => {
    const cell = memoryCell()
    await start(cell, secrets(1))
    expect(cell.text()).toMatch(/^{"secrets":\["secretbox:k1:[0-9a-f]{16}"\]}$/)
  })
})
