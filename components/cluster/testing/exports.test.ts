import { expect, test } from "bun:test"
import { OPTIONAL_RESOURCES } from "../../../pkg/api/optional-resources.ts"
import { RESOURCES } from "../../../pkg/api/resources.ts"
import * as testing from "./testing.ts"

test("every kind that can be served is exported, so that tests have its type", () => {
  // given
  const exported = new Set<unknown>(Object.values(testing))
  // when
  const missing = [...RESOURCES, ...OPTIONAL_RESOURCES].filter((resource) => !exported.has(resource))
  // then
  expect(missing.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`)).toEqual([])
})
