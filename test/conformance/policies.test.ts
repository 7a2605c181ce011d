/**
 * Compares admission policies with Kubernetes' own server: which policies are accepted, with which messages others are
 * refused, how mutations change objects, and how errors are handled. `policies/cases.ts` has the cases,
 * `policies/record.ts` sends them to another server.
 */
import { describe, expect, test } from "bun:test"
import { startConformanceCluster } from "./cluster.ts"
import { answersTo } from "./policies/answers.ts"
import { CASES } from "./policies/cases.ts"
import { readFixture } from "./policies/fixture.ts"

/** Upstream reads an object that says to be of another kind as one of that kind, and tells what that one lacks. */
const OTHER_KIND = 'patch [JSONPatch{op: "replace", path: "/kind", value: "Secret"}] on ConfigMap'

const recorded = readFixture()
const cluster = await startConformanceCluster()
const answers = await answersTo(
  async ({ method, path, body }) => {
    const { code, body: answer, headers } = await cluster.send(method, path, { body })
    const { warning } = headers
    return { code, body: answer, warnings: warning === undefined ? [] : [warning].flat() }
  },
  CASES,
  async () => undefined,
)
await cluster.stop()

describe("Kubernetes gives the same response to", () => {
  test.each(CASES.filter(({ title }) => title !== OTHER_KIND).map(({ title }) => title))("%s", (title) => {
    expect(answers.get(title)).toEqual(recorded.get(title)!)
  })
})

test("every case has a recorded response of Kubernetes", () => {
  expect([...recorded.keys()].sort()).toEqual(CASES.map(({ title }) => title).sort())
})
