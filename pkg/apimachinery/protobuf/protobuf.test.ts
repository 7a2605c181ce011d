import { describe, expect, test } from "bun:test"
import { Buffer } from "node:buffer"
import { ProtobufError } from "../../protobuf/reader.ts"
import { WIRE, Writer } from "../../protobuf/writer.ts"
import { ExactNumber } from "../json/exact-number.ts"
import { e, f, message } from "../fields.ts"
import type { Message } from "../field-spec.ts"
import { LabelSelector, ObjectMeta } from "../meta.ts"
import { RawJson } from "../json/raw-json.ts"
import { defineResource } from "../resource.ts"
import {
  decodeProtobuf,
  encodeProtobuf,
  encodeRaw,
  encodeWatchFrame,
  isEnvelope,
  listMessage,
  openEnvelope,
} from "./envelope.ts"
import { encodingProtobufList } from "./list.ts"

/** What kubectl 1.33 sent for `kubectl create deployment web --image=nginx:1 --replicas=0 --port=80`. */
const DEPLOYMENT =
  "azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50EsEBCiYKA3dlYhIAGgdkZWZhdWx0IgAqADIAOABCAFoKCgNhcHASA3dlYhKIAQgAEgwKCgoDYXBwEgN3ZWIabgocCgASABoAIgAqADIAOABCAFoKCgNhcHASA3dlYhJOEjAKBW5naW54EgduZ2lueDoxKgAyCgoAEAAYUCIAKgBCAGoAcgCAAQCIAQCQAQCiAQAaADIAQgBKAFIAWABgAGgAggEAigEAmgEAwgEAIgIKACgAOAAaDAgAEAAYACAAKAA4ABoAIgA="
/** What kubectl 1.33 sent for `kubectl create configmap cm --from-literal=a=b --from-literal=c=`. */
const CONFIG_MAP = "azhzAAoPCgJ2MRIJQ29uZmlnTWFwEioKGQoCY20SABoHZGVmYXVsdCIAKgAyADgAQgASBgoBYRIBYhIFCgFjEgAaACIA"

const Port = message("core.v1.ContainerPort", "", {
  name: f.string(1, ""),
  hostPort: f.int32(2, ""),
  containerPort: f.int32(3, ""),
  protocol: f.string(4, ""),
  hostIP: f.string(5, ""),
})
const Container = message("core.v1.Container", "", {
  name: f.string(1, ""),
  image: f.string(2, ""),
  ports: f.list(6, Port, ""),
  stdin: f.bool(16, ""),
  securityContext: f.map(15, e.string, ""),
})
const Template = message("core.v1.PodTemplateSpec", "", {
  metadata: f.message(1, ObjectMeta, ""),
  spec: f.message(
    2,
    message("core.v1.PodSpec", "", { containers: f.list(2, Container, ""), hostNetwork: f.bool(11, "") }),
    "",
  ),
})
const Spec = message("apps.v1.DeploymentSpec", "", {
  replicas: f.int32(1, "").pointer(),
  selector: f.message(2, LabelSelector, ""),
  template: f.message(3, Template, ""),
  minReadySeconds: f.int32(5, ""),
  paused: f.bool(7, ""),
})
const Deployment = defineResource(
  { group: "apps", version: "v1", kind: "Deployment", plural: "deployments", scope: "Namespaced", doc: "" },
  { spec: f.message(2, Spec, "") },
)
const ConfigMap = defineResource(
  { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", scope: "Namespaced", doc: "" },
  { data: f.map(2, e.string, "") },
)

const Everything = message("test.v1.Everything", "", {
  text: f.string(1, ""),
  flag: f.bool(2, "").pointer(),
  small: f.int32(3, "").pointer(),
  big: f.int64(4, ""),
  real: f.double(5, ""),
  bytes: f.bytes(6, ""),
  quantity: f.quantity(7, ""),
  either: f.intOrString(8, ""),
  time: f.time(9, ""),
  micro: f.microTime(10, ""),
  duration: f.duration(11, ""),
  json: f.json(12, ""),
  raw: f.rawExtension(13, ""),
  fields: f.fieldsV1(14, ""),
  inner: f.recursive<object>(15, (): Message => Everything, ""),
  list: f.list(16, e.string, ""),
  numbers: f.list(17, e.int32, ""),
  messages: f.listRecursive<object>(18, (): Message => Everything, ""),
  labels: f.map(19, e.string, ""),
  limits: f.map(20, e.quantity, ""),
  extra: f.map(21, e.listOf(e.string), ""),
  blobs: f.map(22, e.bytes, ""),
  seen: f.map(23, e.time, ""),
  byName: f.mapRecursive<object>(200, (): Message => Everything, ""),
})

const roundTrip = (value: object) => decodeProtobuf(Everything, encodeRaw(Everything, value))

describe("the protobuf codec", () => {
  test(
    "decodes what kubectl sends for a Deployment: zeros of fields that are no pointers are absent, a pointer's " +
      "zero is kept",
    () => {
      const { apiVersion, kind, raw } = openEnvelope(Buffer.from(DEPLOYMENT, "base64"))
      expect({ apiVersion, kind }).toEqual({ apiVersion: "apps/v1", kind: "Deployment" })
      expect(decodeProtobuf(Deployment.schema, raw)).toEqual({
        metadata: { name: "web", namespace: "default", labels: { app: "web" } },
        spec: {
          replicas: 0,
          selector: { matchLabels: { app: "web" } },
          template: {
            metadata: { labels: { app: "web" } },
            spec: { containers: [{ name: "nginx", image: "nginx:1", ports: [{ containerPort: 80 }] }] },
          },
        },
      })
    },
  )

  test("reads what kubectl sends for a ConfigMap: an empty value in a map is kept", () => {
    const { raw } = openEnvelope(Buffer.from(CONFIG_MAP, "base64"))
    expect(decodeProtobuf(ConfigMap.schema, raw)).toEqual({
      metadata: { name: "cm", namespace: "default" },
      data: { a: "b", c: "" },
    })
  })

  test("decodes every type that it encodes", () => {
    const value = {
      text: "ä",
      flag: false,
      small: 0,
      big: Number.MAX_SAFE_INTEGER,
      real: -1.5,
      bytes: "aGk=",
      quantity: "100m",
      either: "50%",
      time: "2026-01-02T03:04:05Z",
      micro: "2026-01-02T03:04:05.000007Z",
      duration: "1h0m0.5s",
      json: { a: [null, 1] },
      raw: RawJson.of({ kind: "X" }),
      fields: { "f:a": {} },
      inner: { text: "x", inner: { small: -7 } },
      list: ["a", ""],
      numbers: [0, -1, 7],
      messages: [{}, { either: 0 }],
      labels: { b: "", a: "1" },
      limits: { cpu: "1" },
      extra: { x: ["1", "2"], y: [] },
      blobs: { k: "AA==" },
      seen: { a: null, b: "2026-01-02T03:04:05Z" },
      byName: { n: { flag: true } },
    }
    expect(roundTrip(value) as unknown).toEqual(value)
  })

  test.each([
    [{ time: "1969-12-31T23:59:59Z" }],
    [{ time: "0001-01-01T00:00:00Z" }],
    [{ either: -1 }],
    [{ micro: "1970-01-01T00:00:00.000000Z" }],
    [{ big: Number.MIN_SAFE_INTEGER }],
    [{ duration: "-1ms" }],
  ])("preserves %j", (value) => {
    expect(roundTrip(value) as unknown).toEqual(value)
  })

  test.each([2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)])("does not round %d", (big) => {
    const writer = new Writer()
    writer.tag(4, WIRE.varint)
    writer.int64(big)
    expect(decodeProtobuf(Everything, writer.finish())).toEqual({ big: new ExactNumber(String(big)) })
  })

  test("encodes the fields of an embedded Go struct as a nested message", () => {
    const Flat = message("test.v1.Flat", "", {
      name: f.string(1, "").embeddedIn(1),
      target: f.string(2, ""),
      image: f.string(2, "").embeddedIn(1),
    })
    const Nested = message("test.v1.Nested", "", {
      common: f.message(1, message("test.v1.Common", "", { name: f.string(1, ""), image: f.string(2, "") }), ""),
      target: f.string(2, ""),
    })
    const bytes = encodeRaw(Flat, { name: "n", image: "i", target: "t" })
    expect(decodeProtobuf(Nested, bytes)).toEqual({ common: { name: "n", image: "i" }, target: "t" })
    expect(decodeProtobuf(Flat, bytes)).toEqual({ name: "n", image: "i", target: "t" })
  })

  test("skips unknown fields and values of another wire type", () => {
    const Other = message("test.v1.Other", "", {
      text: f.int32(1, ""),
      other: f.string(99, ""),
      list: f.list(16, e.string, ""),
    })
    expect(decodeProtobuf(Everything, encodeRaw(Other, { text: 5, other: "x", list: ["a"] }))).toEqual({ list: ["a"] })
  })

  test("encodes and decodes lists whose items have no kind", () => {
    const steps = encodingProtobufList(ConfigMap, { resourceVersion: "7" }, [
      { metadata: { name: "a" } },
      { metadata: { name: "b" }, data: { x: "y" } },
    ])
    const { done, value: bytes } = steps.next()
    expect(done).toBe(true)
    const { apiVersion, kind, raw } = openEnvelope(bytes!)
    expect({ apiVersion, kind }).toEqual({ apiVersion: "v1", kind: "ConfigMapList" })
    expect(decodeProtobuf(listMessage(ConfigMap.schema), raw)).toEqual({
      metadata: { resourceVersion: "7" },
      items: [{ metadata: { name: "a" } }, { metadata: { name: "b" }, data: { x: "y" } }],
    })
  })

  test("encodes a long list in steps, and looks at no more items than a step needs", () => {
    // given
    let read = 0
    const items = Array.from({ length: 250 }, (_, i) => ({ metadata: { name: `n${i}` } }))
    function* counted() {
      for (const item of items) {
        read++
        yield item
      }
    }
    const steps = encodingProtobufList(ConfigMap, {}, counted())
    // when
    const reads: number[] = []
    let step = steps.next()
    for (; step.done !== true; step = steps.next()) reads.push(read)
    // then
    expect(reads).toEqual([101, 201])
    expect(decodeProtobuf(listMessage(ConfigMap.schema), openEnvelope(step.value).raw)).toEqual({
      metadata: {},
      items,
    })
  })

  test("encodes a list of many megabytes in pieces, which are the bytes of the whole", () => {
    // given
    const items = Array.from({ length: 1200 }, (_, i) => ({
      metadata: { name: `n${i}` },
      data: { x: "x".repeat(9000) },
    }))
    // when
    const pieces: Uint8Array[] = []
    const steps = encodingProtobufList(ConfigMap, { resourceVersion: "7" }, items)
    for (;;) {
      const { done, value } = steps.next()
      if (value !== undefined) pieces.push(value)
      if (done === true) break
    }
    // then
    expect(pieces.length).toBeGreaterThan(30)
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(300_000)
    const { kind, raw } = openEnvelope(Buffer.concat(pieces))
    expect(kind).toBe("ConfigMapList")
    expect(decodeProtobuf(listMessage(ConfigMap.schema), raw)).toEqual({ metadata: { resourceVersion: "7" }, items })
  })

  test("frames watch events with their length", () => {
    const object = encodeProtobuf(ConfigMap.schema, { metadata: { name: "a" } }, ConfigMap)
    const frame = encodeWatchFrame("ADDED", object)
    const view = Buffer.from(frame)
    expect(view.readUInt32BE(0)).toBe(frame.length - 4)
    const WatchEvent = message("test.v1.WatchEvent", "", {
      type: f.string(1, ""),
      object: f.message(2, message("test.v1.Raw", "", { raw: f.bytes(1, "") }), ""),
    })
    const event = decodeProtobuf(WatchEvent, view.subarray(4)) as { type: string; object: { raw: string } }
    expect(event.type).toBe("ADDED")
    expect(isEnvelope(Buffer.from(event.object.raw, "base64"))).toBe(true)
  })

  test("refuses bytes without the magic number and messages that end early", () => {
    expect(() => openEnvelope(Buffer.from("{}"))).toThrow("expected prefix [107 56 115 0]")
    const bytes = Buffer.from(DEPLOYMENT, "base64")
    for (const size of [10, 40, 100])
      expect(() => decodeProtobuf(Deployment.schema, openEnvelope(bytes.subarray(0, size)).raw)).toThrow(ProtobufError)
  })
})
