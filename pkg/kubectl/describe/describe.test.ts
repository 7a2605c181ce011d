import { describe, expect, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { StatusError } from "../errors/status-error.ts"
import { describerFor, type DescribedResource } from "./describers.ts"
import type { ApiObject, DescribeClient, ListQuery, ObjectList, ResourcePath } from "./describe-client.ts"
import { labelOf } from "./generic.ts"
import { UTC } from "../environment/time-zone.ts"
import { longTime, plainTime } from "./times.ts"

/** What upstream's kubectl 1.36 printed for an object, and what the server answered to its requests. */
interface Recorded {
  readonly resource: DescribedResource
  readonly namespace: string
  readonly name: string
  readonly now: string
  /** Responses by paths with the parameters in their order, or the reason and the message of an error. */
  readonly responses: Readonly<Record<string, unknown>>
  readonly output: readonly string[]
}

const FOLDER = `${import.meta.dir}/recorded`
const recordings = readdirSync(FOLDER).sort()
const read = (file: string) => JSON.parse(readFileSync(`${FOLDER}/${file}`, "utf8")) as Recorded

/** Answers requests as the server did, and fails for those that upstream's kubectl did not send. */
function replaying(responses: Recorded["responses"]): DescribeClient & { readonly asked: Set<string> } {
  const asked = new Set<string>()
  async function answer<T>(path: string): Promise<T> {
    asked.add(path)
    const response = responses[path] as (T & { readonly reason?: string; readonly message?: string }) | undefined
    if (response === undefined) throw new Error(`no request to ${path} was recorded`)
    if (response.reason !== undefined) throw new StatusError(response)
    return response
  }
  const folderOf = ({ group, version, resource }: ResourcePath, namespace: string) => {
    const root = group === "" ? "/api" : `/apis/${group}`
    return `${root}/${version}${namespace === "" ? "" : `/namespaces/${namespace}`}/${resource}`
  }
  return {
    asked,
    get: <T extends ApiObject>(path: ResourcePath, namespace: string, name: string) =>
      answer<T>(`${folderOf(path, namespace)}/${name}`),
    list: <T>(path: ResourcePath, namespace: string, query: ListQuery) =>
      answer<ObjectList<T>>(
        `${folderOf(path, namespace)}?${Object.entries(query)
          .map(([key, value]) => `${key}=${value}`)
          .sort()
          .join("&")}`,
      ),
  }
}

describe("a description", () => {
  test.each(recordings)("of %s is that of upstream's kubectl", async (file) => {
    // given what a server answered to upstream's kubectl, and the time then
    const { resource, namespace, name, now, responses, output } = read(file)
    const client = replaying(responses)
    const describing = { client, showEvents: true, chunkSize: 500, now: () => Date.parse(now), zone: UTC }

    // when the object is described
    const describer = await describerFor(resource)
    const text = await describer(describing, namespace, name)

    // then the text is the same, and so are the requests
    expect(text.split("\n")).toEqual([...output])
    expect([...client.asked].sort()).toEqual(Object.keys(responses).sort())
  })

  test("has no events where they are not asked for", async () => {
    // given a Deployment with events
    const { resource, namespace, name, responses } = read("deployment-d1.json")
    const client = replaying(responses)

    // when it is described as one of many
    const describer = await describerFor(resource)
    const text = await describer(
      { client, showEvents: false, chunkSize: 500, now: () => 0, zone: UTC },
      namespace,
      name,
    )

    // then its events are neither asked for nor shown
    expect(text).not.toContain("Events:")
    expect([...client.asked].filter((path) => path.includes("/events"))).toEqual([])
  })
})

describe("the label of a field", () => {
  test.each([
    ["podCIDR", "Pod CIDR"],
    ["apiURL", "API URL"],
    ["someURLs", "Some URLs"],
    ["HTTPServer", "HTTPServer"],
    ["foo_bar", "foo_bar"],
    ["foo-bar", "Foo - Bar"],
    ["foo2Bar", "foo2Bar"],
    ["uidOf", "UID Of"],
    ["aBCd", "A B Cd"],
    ["PDFLoader", "PDFLoader"],
  ])("%p is %p", (field, label) => {
    // given a field, when it is described, then its words are apart
    expect(labelOf(field)).toBe(label)
  })
})

test("times are written in the zone of the user", () => {
  // given a zone that is ahead of UTC by half an hour more than whole hours, and one behind it
  const india = { offset: () => 330, abbreviation: () => "IST" }
  const newfoundland = { offset: () => -150, abbreviation: () => "NDT" }

  // when times are written, then with the date and the time of the zone
  expect(longTime("2026-01-31T20:00:00Z", india)).toBe("Sun, 01 Feb 2026 01:30:00 +0530")
  expect(plainTime("2026-07-01T01:00:00Z", newfoundland)).toBe("2026-06-30 22:30:00 -0230 NDT")
  expect(longTime(undefined, india)).toBe("Mon, 01 Jan 0001 00:00:00 +0000")
})
