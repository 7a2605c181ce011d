import { afterAll, describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { systemRandom } from "../../pkg/clock/random.ts"
import { MemberFolder, planOf, type MemberPlan, type MemberState } from "./member-state.ts"

const EMPTY: MemberState = {
  hasData: false,
  unfinished: undefined,
  isRemoved: false,
  hasDatabase: false,
  joins: false,
}

describe("a member of etcd", () => {
  const plans: { title: string; given: Partial<MemberState>; wants: MemberPlan }[] = [
    { title: "begins a cluster if the data directory is empty", given: {}, wants: { action: "begin", fills: false } },
    {
      title: "begins a cluster with the data of a single server",
      given: { hasDatabase: true },
      wants: { action: "begin", fills: true },
    },
    { title: "joins a cluster if the data directory is empty", given: { joins: true }, wants: { action: "join" } },
    { title: "continues with its data", given: { hasData: true }, wants: { action: "start" } },
    {
      title: "continues with its data, whatever --server says",
      given: { hasData: true, joins: true },
      wants: { action: "start" },
    },
    {
      title: "begins again if it was killed while its data were imported",
      given: { hasData: true, unfinished: "filling", hasDatabase: true },
      wants: { action: "begin", fills: true },
    },
    {
      title: "completes its start if it was killed after its data were imported",
      given: { hasData: true, unfinished: "filling" },
      wants: { action: "finish" },
    },
    {
      title: "joins again if it was killed before it became a voting member",
      given: { hasData: true, unfinished: "joining", joins: true },
      wants: { action: "join" },
    },
    {
      title: "joins as a new member after it was removed",
      given: { hasData: true, isRemoved: true, joins: true },
      wants: { action: "join" },
    },
  ]
  test.each(plans)("$title", ({ given, wants }) => expect(planOf({ ...EMPTY, ...given })).toEqual(wants))

  test.each([
    {
      title: "was removed and --server is not given",
      given: { hasData: true, isRemoved: true },
      wants: "start it with --server",
    },
    {
      title: "has not joined completely and --server is not given",
      given: { unfinished: "joining" as const },
      wants: "Start it with --server",
    },
    {
      title: "is to join although it has its own cluster",
      given: { hasDatabase: true, joins: true },
      wants: "start with an empty --data-dir",
    },
  ])("is refused if it $title", ({ given, wants }) => expect(() => planOf({ ...EMPTY, ...given })).toThrow(wants))
})

describe("the directory of a member", () => {
  const base = mkdtempSync(join(tmpdir(), "k3ts-member-"))
  afterAll(() => rmSync(base, { recursive: true }))

  test("keeps the member's name, and gets another one when the member begins again", () => {
    const folder = new MemberFolder(join(base, "named"))
    const name = folder.name("node-1", systemRandom)
    expect(name).toMatch(/^node-1-[0-9a-f]{8}$/)
    expect(folder.name("node-1", systemRandom)).toBe(name)
    folder.empty("joining")
    expect(folder.name("node-1", systemRandom)).not.toBe(name)
  })

  test("moves the data of a removed member aside, with a file that says so", () => {
    const folder = new MemberFolder(join(base, "removed"))
    mkdirSync(join(folder.path, "member"), { recursive: true })
    folder.mark("removed")
    const outside = { hasDatabase: false, joins: true }
    expect(folder.state(outside)).toMatchObject({ hasData: true, isRemoved: true })
    const aside = folder.putAside(1_700_000_000_000)
    expect(existsSync(join(aside!, "member"))).toBe(true)
    expect(folder.state(outside)).toMatchObject({ hasData: false, isRemoved: false })
  })
})
