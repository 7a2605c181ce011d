import { expect, test } from "bun:test"
import { RESOURCES } from "../../../pkg/api/resources.ts"
import * as testing from "./testing.ts"

test("every served kind is exported, so that tests have its type", () => {
  // given
  const exported = new Set<unknown>(Object.values(testing))
  // when
  const missing = RESOURCES.filter((resource) => !exported.has(resource))
  // then
  expect(missing.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`)).toEqual([])
})
