import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startHttpServer } from "../../components/apiserver/serving/http-server.fixtures.ts"
import { differences, verdictsOf, type Verdict } from "./judged-custom-resources/verdicts.ts"

const SHOWN = 20
/** The share of cases whose verdict must equal that of Kubernetes 1.36.2. */
const AGREEING = 0.995

describe("for definitions and objects with a recorded verdict of a Kubernetes API server", () => {
  let server: Awaited<ReturnType<typeof startHttpServer>>
  let verdicts: readonly Verdict[]
  beforeAll(async () => {
    server = await startHttpServer({ frozen: false })
    verdicts = await verdictsOf(async (method, path, body, type = "application/json") => {
      const { code, text } = await server.call(
        method,
        path,
        body === undefined ? {} : { headers: { "content-type": type }, body: JSON.stringify(body) },
      )
      return { code, body: text.startsWith("{") ? (JSON.parse(text) as unknown) : { message: text } }
    })
  }, 120_000)
  afterAll(() => server.stop())

  test("nearly all verdicts are the same, messages included", () => {
    const found = differences(verdicts)
    if (found.length > verdicts.length * (1 - AGREEING))
      for (const { step, wants, found: own } of found.slice(0, SHOWN))
        console.error(`${step.method} ${step.path} ${JSON.stringify(step.body)}\n  wants ${wants}\n  found ${own}`)
    expect(found.length / verdicts.length).toBeLessThanOrEqual(1 - AGREEING)
  })

  test("no answer is an internal error, unless Kubernetes gives one too", () => {
    const broken = differences(verdicts).filter(
      ({ wants, found }) => found.startsWith("500") && !wants.startsWith("500"),
    )
    expect(broken).toEqual([])
  })
})
