import { expect, test } from "bun:test"
import { ConfigMap } from "../api/core/v1/configmap.ts"
import { Event } from "../api/core/v1/event/event.ts"
import { startCluster } from "../../components/cluster/testing/testing.ts"
import { silent } from "../log/log.ts"
import { PAGE_BYTES } from "../quarantine/in-hand.ts"
import { Quarantine } from "../quarantine/quarantine.ts"
import { NOTHING_RECORDED, type QuarantineRecord } from "../quarantine/record.ts"
import { defineController } from "./controller.ts"
import { startController } from "./start.ts"

/** Runs a controller of ConfigMaps whose last run left `before`. Returns the keys that it has worked on. */
async function stage(before: Partial<QuarantineRecord>) {
  const cluster = await startCluster()
  const context = cluster.contextFor()
  const quarantine = new Quarantine({
    page: new Uint8Array(PAGE_BYTES),
    before: { ...NOTHING_RECORDED, ...before },
    boot: "b",
    save: () => undefined,
    clock: context.clock,
    log: silent,
  })
  const worked: string[] = []
  const controller = defineController({
    name: "example",
    reconciles: ConfigMap,
    concerns: ({ metadata }) => metadata.namespace === "default" && metadata.name!.length === 1,
    reconcile: async (key) => void worked.push(key),
  })
  for (const name of ["a", "b"]) await cluster.client.create(ConfigMap, { metadata: { name, namespace: "default" } })
  const running = await startController(controller, { ...context, quarantine })
  const end = async () => {
    await running.stop()
    quarantine.end()
    await cluster.stop()
  }
  return { cluster, quarantine, worked, running, end }
}
const POISON = { place: "example", key: "default/a" }

test("a controller skips what is set aside, with one Event, until somebody edits the object", async () => {
  // given
  const { cluster, worked, running, end } = await stage({
    setAside: [{ ...POISON, since: "2026-01-01T00:00:00Z", why: "w" }],
  })
  await cluster.settle()
  running.enqueue("default/a")
  await cluster.settle()
  expect(worked).toEqual(["default/b"])
  const events = async () =>
    (await cluster.list(Event, { namespace: "default" })).filter(({ reason }) => reason === "SetAside")
  expect((await events()).map(({ involvedObject, count }) => [involvedObject.name, count])).toEqual([["a", 1]])
  // when
  const body = { data: { edited: "yes" } }
  await cluster.client.patch(ConfigMap, { name: "a", namespace: "default" }, { type: "merge", body })
  await cluster.settle()
  // then
  expect(worked).toEqual(["default/b", "default/a"])
  await end()
})

test("a controller works at once on what an administrator frees", async () => {
  // given
  const { cluster, quarantine, worked, end } = await stage({
    setAside: [{ ...POISON, since: "2026-01-01T00:00:00Z", why: "w" }],
  })
  await cluster.settle()
  // when
  quarantine.reread(NOTHING_RECORDED)
  await cluster.settle()
  // then
  expect(worked).toEqual(["default/b", "default/a"])
  await end()
})

test("a controller works on a suspect once the start has done most of its work", async () => {
  // given
  const { cluster, worked, end } = await stage({ suspects: [POISON] })
  await cluster.settle()
  expect(worked).toEqual(["default/b"])
  // when
  await cluster.advance("3s")
  // then
  expect(worked).toEqual(["default/b", "default/a"])
  await end()
})
