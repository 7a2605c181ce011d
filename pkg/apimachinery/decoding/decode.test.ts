import { describe, expect, test } from "bun:test"
import { decodeObject } from "./decode.ts"
import { ApiError } from "../errors.ts"
import { ExactNumber } from "../json/exact-number.ts"
import { e, f, message } from "../fields.ts"
import type { Message } from "../field-spec.ts"
import { defineResource } from "../resource.ts"

const Port = message("test.v1.Port", "", {
  number: f.int32(1, "").required().min(1).max(65535),
  protocol: f.string(2, "").default("TCP").enum("TCP", "UDP"),
})
const Limits = message(
  "test.v1.Limits",
  "",
  { limits: f.map(1, e.quantity, ""), requests: f.map(2, e.quantity, "") },
  {
    defaults: (value: { limits?: Record<string, string>; requests?: Record<string, string> }) =>
      value.limits !== undefined && value.requests === undefined ? { ...value, requests: value.limits } : value,
  },
)
const WidgetSpec = message("test.v1.WidgetSpec", "", {
  replicas: f.int32(1, "").default(1),
  ports: f.list(2, Port, ""),
  resources: f.message(3, Limits, "").always(),
  size: f.quantity(4, ""),
  since: f.time(5, ""),
  at: f.microTime(6, ""),
  target: f.intOrString(7, ""),
  blob: f.bytes(8, ""),
  big: f.int64(9, ""),
  raw: f.json(10, ""),
  seen: f.map(12, e.time, ""),
  inner: f.recursive<object>(11, (): Message => WidgetSpec, ""),
})
const Widget = defineResource(
  { group: "test", version: "v1", kind: "Widget", plural: "widgets", scope: "Namespaced", doc: "" },
  {
    spec: f.message(2, WidgetSpec, "").always(),
  },
)
const widget = (spec: unknown) => ({ apiVersion: "test/v1", kind: "Widget", metadata: { name: "a" }, spec })
const decodeSpec = (spec: unknown) => decodeObject(Widget, widget(spec)).object.spec as unknown

const problem = (run: () => unknown): string => {
  try {
    run()
  } catch (err) {
    expect(err).toBeInstanceOf(ApiError)
    expect((err as ApiError).code).toBe(400)
    return (err as ApiError).message
  }
  throw new Error("nothing was thrown")
}

describe("decodeObject", () => {
  test("adds defaults, including whole structs", () => {
    // given an object that says nothing but its name; when it is decoded; then the defaults are there
    expect(decodeObject(Widget, { metadata: { name: "a" } }).object as unknown).toEqual({
      apiVersion: "test/v1",
      kind: "Widget",
      metadata: { name: "a" },
      spec: { replicas: 1, resources: {} },
    })
  })

  test("runs a message's own defaults after those of its fields, innermost first", () => {
    expect(decodeSpec({ resources: { limits: { cpu: "1000m" } } })).toEqual({
      replicas: 1,
      resources: { limits: { cpu: "1" }, requests: { cpu: "1" } },
    })
  })

  test("returns the same object if nothing changes, and shares unchanged parts otherwise", () => {
    // given an object that was decoded before
    const { object } = decodeObject(Widget, widget({ ports: [{ number: 1 }], size: "1Gi" }))
    // when it is decoded again, then it is the same
    expect(decodeObject(Widget, object).object).toBe(object)
    // and a part that needs nothing is shared by one that does
    const metadata = { name: "b", labels: { a: "b" } }
    expect(decodeObject(Widget, { metadata }).object.metadata).toBe(metadata)
  })

  test("skips parts that are identical to those of an object that was decoded before", () => {
    // given a spec that would get defaults, and an old object that holds it
    const spec = { name: "n" }
    const old = { apiVersion: "test/v1", kind: "Widget", metadata: { name: "a" }, spec }
    // then
    expect((decodeObject(Widget, widget(spec), { old }).object as unknown as typeof old).spec).toBe(spec)
    expect(decodeObject(Widget, widget({ ...spec }), { old }).object).toEqual(decodeObject(Widget, widget(spec)).object)
  })

  test("never changes its input", () => {
    const given = Object.freeze({
      metadata: Object.freeze({ name: "a", uid: null }),
      spec: Object.freeze({ ports: Object.freeze([Object.freeze({ number: 1, x: 2 })]) }),
    })
    expect(decodeObject(Widget, given).object.spec as unknown).toEqual({
      replicas: 1,
      resources: {},
      ports: [{ number: 1, protocol: "TCP" }],
    })
  })

  test.each([
    ["null is absent", { replicas: null, ports: null }, { replicas: 1, resources: {} }],
    [
      "null in a map is the zero value",
      { resources: { limits: { cpu: null } } },
      { replicas: 1, resources: { limits: { cpu: "0" }, requests: { cpu: "0" } } },
    ],
    [
      "null in a map of times is a time that is not set",
      { seen: { a: null, b: "2026-01-02T03:04:05+01:00" } },
      { replicas: 1, resources: {}, seen: { a: null, b: "2026-01-02T02:04:05Z" } },
    ],
    ["quantities are canonical", { size: "1024Mi" }, { replicas: 1, resources: {}, size: "1Gi" }],
    ["a bare number is a quantity", { size: 2 }, { replicas: 1, resources: {}, size: "2" }],
    [
      "times are in UTC and whole seconds",
      { since: "2026-01-02T03:04:05.678+01:00" },
      { replicas: 1, resources: {}, since: "2026-01-02T02:04:05Z" },
    ],
    [
      "micro times keep microseconds",
      { at: "2026-01-02T03:04:05.6789Z" },
      { replicas: 1, resources: {}, at: "2026-01-02T03:04:05.678900Z" },
    ],
    ["raw JSON is kept", { raw: { a: [null, 1.5] } }, { replicas: 1, resources: {}, raw: { a: [null, 1.5] } }],
    [
      "a message can contain itself",
      { inner: { inner: {} } },
      { replicas: 1, resources: {}, inner: { replicas: 1, resources: {}, inner: { replicas: 1, resources: {} } } },
    ],
  ])("%s", (_title, given, wanted) => {
    expect(decodeSpec(given)).toEqual(wanted)
  })

  test.each([
    [{ replicas: "1" }, "json: cannot unmarshal string into Go struct field WidgetSpec.spec.replicas of type int32"],
    [
      { replicas: 2 ** 31 },
      "json: cannot unmarshal number 2147483648 into Go struct field WidgetSpec.spec.replicas of type int32",
    ],
    [
      { replicas: 1.5 },
      "json: cannot unmarshal number 1.5 into Go struct field WidgetSpec.spec.replicas of type int32",
    ],
    [{ ports: {} }, "json: cannot unmarshal object into Go struct field WidgetSpec.spec.ports of type []v1.Port"],
    [
      { ports: [{ protocol: 1 }] },
      "json: cannot unmarshal number into Go struct field Port.spec.ports.protocol of type string",
    ],
    [{ ports: [7] }, "json: cannot unmarshal number into Go struct field WidgetSpec.spec.ports of type v1.Port"],
    [
      { resources: [] },
      "json: cannot unmarshal array into Go struct field WidgetSpec.spec.resources of type v1.Limits",
    ],
    [{ size: "many" }, "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
    [{ size: [1] }, "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
    [{ since: "noon" }, 'parsing time "noon" as "2006-01-02T15:04:05Z07:00": cannot parse "noon" as "2006"'],
    [{ blob: "***" }, "illegal base64 data at input byte 0"],
    [{ blob: "abcde" }, "illegal base64 data at input byte 4"],
    [{ blob: "ab=" }, "illegal base64 data at input byte 3"],
    [{ blob: "ab=x" }, "illegal base64 data at input byte 2"],
    [{ blob: "YQ==YQ==" }, "illegal base64 data at input byte 4"],
    [{ blob: "abc=x" }, "illegal base64 data at input byte 4"],
    [{ blob: [256] }, "json: cannot unmarshal number 256 into Go struct field WidgetSpec.spec.blob of type uint8"],
    [{ blob: ["x"] }, "json: cannot unmarshal string into Go struct field WidgetSpec.spec.blob of type uint8"],
    [{ target: true }, "json: cannot unmarshal bool into Go struct field WidgetSpec.spec.target of type int32"],
  ])("refuses %j with the API server's message", (spec, words) => {
    expect(problem(() => decodeSpec(spec))).toBe(`Widget in version "v1" cannot be handled as a Widget: ${words}`)
  })

  test("refuses a label that is no string", () => {
    expect(problem(() => decodeObject(Widget, { metadata: { labels: { a: 1 } } }))).toBe(
      'Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string',
    )
  })

  test("drops unknown fields and lists them with their paths", () => {
    const { object, faults } = decodeObject(Widget, widget({ foo: 1, ports: [{ number: 1 }, { number: 2, bar: 3 }] }))
    expect(object.spec as unknown).toEqual({
      replicas: 1,
      resources: {},
      ports: [
        { number: 1, protocol: "TCP" },
        { number: 2, protocol: "TCP" },
      ],
    })
    expect(faults).toEqual(['unknown field "spec.foo"', 'unknown field "spec.ports[1].bar"'])
  })

  test("refuses unknown fields and the parser's faults with fieldValidation=Strict", () => {
    expect(
      problem(() =>
        decodeObject(Widget, widget({ foo: 1 }), {
          fieldValidation: "Strict",
          bodyFaults: ['json: duplicate field "spec.foo"'],
        }),
      ),
    ).toBe(
      'Widget in version "v1" cannot be handled as a Widget: strict decoding error: json: duplicate field "spec.foo", unknown field "spec.foo"',
    )
  })

  test("refuses another version, another kind and values that are no object", () => {
    expect(problem(() => decodeObject(Widget, { apiVersion: "test/v2", kind: "Widget" }))).toBe(
      'Widget in version "v2" cannot be handled as a Widget: no kind "Widget" is registered for version "test/v2" in scheme "pkg/api/legacyscheme/scheme.go:30"',
    )
    expect(
      problem(() => decodeObject(Widget, { apiVersion: "test/v2", kind: "Widget" }, { foreign: () => undefined })),
    ).toBe("the API version in the data (test/v2) does not match the expected API version (test/v1)")
    expect(problem(() => decodeObject(Widget, { kind: "Gadget" }))).toContain(
      'Gadget in version "v1" cannot be handled as a Widget',
    )
    expect(problem(() => decodeObject(Widget, []))).toContain("must be of type Widget")
  })

  test.each([{ kind: "", apiVersion: "" }, { kind: null, apiVersion: null }, {}])(
    "accepts %j without a kind as the expected kind",
    (type) => {
      expect(decodeObject(Widget, type).object).toMatchObject({ kind: "Widget", apiVersion: "test/v1" })
    },
  )

  test.each([
    { field: "big", number: "9007199254740993" },
    { field: "big", number: "-9223372036854775808" },
    { field: "big", number: "9223372036854775807" },
  ])("refuses $number in a 64-bit field instead of rounding it", ({ field, number }) => {
    expect(problem(() => decodeSpec({ inner: { [field]: new ExactNumber(number) } }))).toBe(
      `Widget in version "v1" cannot be handled as a Widget: spec.inner.big: ${number} cannot be stored exactly: give an integer between -9007199254740991 and 9007199254740991`,
    )
  })

  test.each([
    { field: "big", number: "9223372036854775808", goType: "int64" },
    { field: "big", number: "1.0", goType: "int64" },
    { field: "replicas", number: "1e3", goType: "int32" },
    { field: "replicas", number: "9007199254740993", goType: "int32" },
    { field: "target", number: "1.0", goType: "int32" },
  ])("refuses $number as $goType with Go's message", ({ field, number, goType }) => {
    expect(problem(() => decodeSpec({ [field]: new ExactNumber(number) }))).toBe(
      `Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal number ${number} into Go struct field WidgetSpec.spec.${field} of type ${goType}`,
    )
  })

  test.each([
    [[1, null, 255], "AQD/"],
    ["YW\nJj", "YWJj"],
    ["ab==", "aQ=="],
    ["abd=", "abc="],
  ])("takes %j for bytes as Go does, and keeps them as it writes them", (blob, kept) => {
    expect(decodeSpec({ blob })).toMatchObject({ blob: kept })
  })

  test("keeps the spelling of a number for a quantity", () => {
    expect(decodeSpec({ size: new ExactNumber("1e3") })).toMatchObject({ size: "1e3" })
    expect(decodeSpec({ size: new ExactNumber("9007199254740993") })).toMatchObject({ size: "9007199254740993" })
  })

  test.each(["inner", "ports", "blob", "since", "resources"])("refuses a number with kept spelling for %s", (field) => {
    expect(problem(() => decodeSpec({ [field]: new ExactNumber("1.0") }))).toContain("json: cannot unmarshal number")
  })

  test("refuses endless nesting and ignores the key __proto__", () => {
    // given thousands of levels
    let deep: object = {}
    for (let i = 0; i < 200_000; i++) deep = { inner: deep }
    expect(problem(() => decodeSpec(deep))).toContain("exceeded max depth")
    // given a map with a key that is a setter on plain objects
    const { object } = decodeObject(Widget, JSON.parse('{"spec":{"resources":{"limits":{"__proto__":"1000m"}}}}'))
    expect(JSON.stringify(object)).toContain('"limits":{"__proto__":"1"}')
  })
})

test("drops zeros that Go cannot distinguish from absent fields, and keeps the others", () => {
  // given fields by value, by pointer and required
  const Zeros = defineResource(
    { group: "t", version: "v1", kind: "Zeros", plural: "zeros", scope: "Cluster", doc: "" },
    {
      flag: f.bool(2, ""),
      text: f.string(3, ""),
      count: f.int32(4, ""),
      list: f.list(5, e.string, ""),
      map: f.map(6, e.string, ""),
      pointer: f.int32(7, "").pointer(),
      needed: f.int32(8, "").required(),
      seconds: f.int32(9, "").default(10),
    },
  )
  // when all of them are sent as zero
  const { object } = decodeObject(Zeros, {
    flag: false,
    text: "",
    count: 0,
    list: [],
    map: {},
    pointer: 0,
    needed: 0,
    seconds: 0,
  })
  // then
  expect(object).toEqual({ apiVersion: "t/v1", kind: "Zeros", metadata: {}, pointer: 0, needed: 0, seconds: 10 })
})
