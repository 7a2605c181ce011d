import { expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ControllerRevision } from "../../../pkg/api/apps/v1/controllerrevision.ts"
import { ExactNumber } from "../../../pkg/apimachinery/json/exact-number.ts"
import { RawJson } from "../../../pkg/apimachinery/json/raw-json.ts"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { silent } from "../../../pkg/log/log.ts"
import { openStorage } from "./open-storage.ts"

test("raw JSON is the same after a restart, and when its object is written again", async () => {
  // given a revision whose data is written in a way of its own
  const dir = mkdtempSync(join(tmpdir(), "k3ts-storage-"))
  const open = async () =>
    (await openStorage(dir, { clock: realClock, log: silent, random: systemRandom }, { frozen: true })).storage
  const data = RawJson.from('{"b":1.0,"10":1,"a":12345678901234567890}')
  const key = `${ControllerRevision.prefix}default/r`
  const object = {
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: { name: "r", namespace: "default" },
    data,
    revision: 1,
  }
  let storage = await open()
  const { revision } = await storage.write({ key, object, expected: 0, time: 0, author: "test" })
  storage.close()

  // when the store is opened again, and the object labelled
  storage = await open()
  const stored = storage.get(key)!.object
  const labelled = { ...stored, metadata: { ...stored.metadata, labels: { a: "b" } } }
  const { json } = await storage.write({ key, object: labelled, expected: revision, time: 0, author: "test" })
  storage.close()
  rmSync(dir, { recursive: true })

  // then
  expect(stored).toMatchObject({ data })
  expect(Buffer.from(json).toString()).toContain(`"data":${data.text}`)
})

test("integers of custom objects that JavaScript would round are the same after a restart", async () => {
  const dir = mkdtempSync(join(tmpdir(), "k3ts-storage-"))
  const open = async () => (await openStorage(dir, { clock: realClock, log: silent, random: systemRandom }, {})).storage
  const key = "/registry/example.com/widgets/default/w"
  const object = {
    apiVersion: "example.com/v1",
    kind: "Widget",
    metadata: { name: "w" },
    spec: exactly("9007199254740993"),
  }
  let storage = await open()
  await storage.write({ key, object, expected: 0, time: 0, author: "test" })
  storage.close()
  // when
  storage = await open()
  const stored = storage.get(key)!.object
  storage.close()
  rmSync(dir, { recursive: true })
  // then
  expect(stored).toMatchObject({ spec: object.spec })
})

const exactly = (text: string) => ({ size: new ExactNumber(text), sizes: [new ExactNumber(text), 1] })
