/**
 * Compares sign-in, authorization, admission and audit with Kubernetes' own server, both with the same files: who the
 * users are, what is refused with which words, and every field of the audit events. `configured/requests.ts` has the
 * requests, `configured/record.ts` sends them to another server.
 */
import { describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startServer } from "../harness/server.ts"
import { answersOf, type Answered } from "./configured/answers.ts"
import { writeFiles } from "./configured/files.ts"
import { readFixture } from "./configured/fixture.ts"
import { startPrograms } from "./configured/programs.ts"
import { REQUESTS } from "./configured/requests.ts"

/**
 * No authorizer could decide: Kubernetes answers with a text, and k3ts with a Status that says the same, as for every
 * other failure.
 */
const UNDECIDED = ["john reads broken", "john reads in strict", "jane reads in strict"]
/** Kubernetes loses the event of a patch that is no JSON: it cannot encode the event. */
const LOST = "a patch that is no JSON"
const titles = REQUESTS.filter(({ setup }) => setup !== true).map(({ title }) => title)
const recorded = readFixture()
const answers = await answered()

describe("Kubernetes gives the same answer, and records the same events, when it is asked:", () => {
  test.each(titles.filter((title) => !UNDECIDED.includes(title) && title !== LOST))("%s", (title) => {
    expect(answers.get(title)).toEqual(asHere(recorded.get(title)!))
  })
})

test("a patch that is no JSON is refused in Kubernetes' words, and its event is not lost", () => {
  const [ours, theirs] = [answers.get(LOST)!, recorded.get(LOST)!]
  expect([ours.code, ours.body]).toEqual([theirs.code, theirs.body])
  expect(theirs.audit).toEqual([])
  expect(ours.audit).toMatchObject([{ verb: "patch", responseStatus: { code: 400 } }])
})

test.each(UNDECIDED)("a request that no authorizer could decide about fails: %s", (title) => {
  const [ours, theirs] = [answers.get(title)!, recorded.get(title)!]
  expect([ours.code, theirs.code]).toEqual([500, 500])
  expect(ours.body).toMatchObject({
    reason: "InternalError",
    message: expect.stringContaining("the webhook is broken"),
  })
  const annotations = (answer: Answered) => answer.audit.map((event) => (event as { annotations: object }).annotations)
  expect(annotations(ours)).toEqual(annotations(theirs))
})

test("every request has a recorded answer of Kubernetes", () => {
  expect([...recorded.keys()].sort()).toEqual(titles.toSorted())
})

/**
 * Kubernetes records options of a deletion in a version that is not its API's, and lists that no client has sent as
 * null.
 */
function asHere(answer: Answered): Answered {
  const text = JSON.stringify(answer)
    .replaceAll("meta.k8s.io/__internal", "v1")
    .replaceAll(/"(resourceRules|nonResourceRules)":null/g, '"$1":[]')
  return JSON.parse(text) as Answered
}

async function answered(): Promise<ReadonlyMap<string, Answered>> {
  using programs = await startPrograms()
  const folder = mkdtempSync(join(tmpdir(), "k3ts-configured-"))
  try {
    await using server = await startServer({ flags: writeFiles(folder, programs) })
    return await answersOf(server.port, programs, folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
