import { expect, test } from "bun:test"
import { builtinScheme } from "../../pkg/api/scheme.ts"
import { VirtualClock } from "../../pkg/clock/virtual.ts"
import { storedObjects } from "./stored-objects.ts"

const scheme = builtinScheme()
const parts = () => ({
  clock: new VirtualClock(0),
  resourceOf: (apiVersion: string, kind: string) => scheme.of(apiVersion, kind),
})
const map = (name: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`
const namesIn = async (manifest: string) =>
  (await storedObjects({ manifest }, "web", parts())).map(({ name, namespace }) => `${namespace}/${name}`)

test.each<[what: string, manifest: string, names: string[]]>([
  ["all documents", `---\n${map("a")}---\n${map("b")}`, ["web/a", "web/b"]],
  ["no document of a kind that is gone", `kind: Gone\napiVersion: example.com/v1\n---\n${map("a")}`, ["web/a"]],
  ["no document that is no YAML", `a: [\n---\n${map("a")}`, ["web/a"]],
  ["no document that no request could have had", `${map("a")}#${"x".repeat(4_000_000)}\n---\n${map("b")}`, ["web/b"]],
])("%s of a stored release are its objects", async (_what, manifest, names) => {
  expect(await namesIn(manifest)).toEqual(names)
})

test("a stored release of millions of empty documents is refused after some thousand", async () => {
  await expect(namesIn("---\n".repeat(4_000_000))).rejects.toThrow("more than 10000 documents")
})

test("others have their turns while thousands of objects are read", async () => {
  // given a release of 5,000 objects
  const manifest = Array.from({ length: 5000 }, (_, i) => map(`m${i}`)).join("---\n")
  // when it is read
  let turns = 0
  let isOver = false
  const reading = namesIn(manifest).finally(() => (isOver = true))
  while (!isOver) {
    turns++
    await new Promise((resolve) => setImmediate(resolve))
  }
  // then in many steps
  expect(await reading).toHaveLength(5000)
  expect(turns).toBeGreaterThan(20)
})
