import { expect, test } from "bun:test"
import { builtinScheme } from "../../../pkg/api/scheme.ts"
import { createOpenApi, type OtherDocuments } from "./openapi.ts"

const NO_OTHERS: OtherDocuments = {
  generation: 0,
  v2: () => Promise.resolve([]),
  v3: () => Promise.resolve(undefined),
  v3Hashes: () => Promise.resolve(new Map()),
}

/** Documents whose steps take 6 ms each, and the number of turns of the event loop that they have ended. */
function stage() {
  let [now, turns] = [0, 0]
  const clock = {
    now: () => 0,
    monotonic: () => (now += 6),
    afterTurn(run: () => void) {
      turns++
      setImmediate(run)
    },
  }
  return { openApi: createOpenApi(builtinScheme(), NO_OTHERS, clock), turns: () => turns }
}

test("OpenAPI documents are made in many turns, and once for all requests at the same time", async () => {
  // given
  const { openApi, turns } = stage()
  const documents = await openApi()
  // when two clients ask for the whole document
  const [first, second] = await Promise.all([documents.v2(undefined, undefined), documents.v2(undefined, undefined)])
  const forOne = turns()
  // then others had many turns meanwhile
  expect(forOne).toBeGreaterThan(20)
  expect(await first.text()).toBe(await second.text())
  // and a later request takes none
  await documents.v2(undefined, undefined)
  expect(turns()).toBe(forOne)
  // and the index, for which every document is made, takes many too, once
  await Promise.all([documents.v3Index(undefined), documents.v3Index(undefined)])
  const forIndex = turns() - forOne
  expect(forIndex).toBeGreaterThan(20)
  await documents.v3Index(undefined)
  expect(turns() - forOne).toBe(forIndex)
})
