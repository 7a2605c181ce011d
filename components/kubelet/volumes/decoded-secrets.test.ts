import { expect, test } from "bun:test"
import type { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { decodedSecrets } from "./decoded-secrets.ts"

test("a Secret is read and decoded once, however many ask for it, and a missing one is none", async () => {
  // given
  const reads: string[] = []
  const of = decodedSecrets(async (name) => {
    reads.push(name)
    return name === "none" ? undefined : ({ data: { key: btoa("value") } } as unknown as Secret)
  })
  // when
  const [one, two, none] = await Promise.all([of("a"), of("a"), of("none")])
  // then
  expect(Buffer.from(one!.get("key")!).toString()).toBe("value")
  expect(two).toBe(one!)
  expect(none).toBeUndefined()
  expect(reads).toEqual(["a", "none"])
})
