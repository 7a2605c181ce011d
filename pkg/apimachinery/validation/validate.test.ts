import { describe, expect, test } from "bun:test"
import { decodeObject } from "../decoding/decode.ts"
import type { Cause } from "../errors.ts"
import { e, f, message } from "../fields.ts"
import type { Message } from "../field-spec.ts"
import { defineResource } from "../resource.ts"
import { validateObject, validateObjectUpdate } from "./validate.ts"

const Port = message("test.v1.Port", "", {
  number: f.int32(1, "").required().min(1).max(65535),
  protocol: f.string(2, "").default("TCP").enum("TCP", "UDP"),
})
const WidgetSpec = message("test.v1.WidgetSpec", "", {
  name: f.string(1, "").required(),
  ports: f.list(2, Port, ""),
  byName: f.map(3, Port, ""),
  modes: f.list(4, e.string, "").enum("a", "b"),
  count: f.int32(5, "").min(0),
  title: f.string(6, "").maxLength(3),
  host: f.string(7, "").check((value) => (value.includes(" ") ? "must not contain spaces" : undefined)),
  selector: f.map(8, e.string, "").immutable(),
  note: f.string(9, "").required().printZero(),
  inner: f.recursive<object>(10, (): Message => WidgetSpec, ""),
  items: f.list(11, e.string, "").required(),
  level: f.string(12, "").enum("low", "high").inOrder(),
})
const Widget = defineResource(
  {
    group: "test",
    version: "v1",
    kind: "Widget",
    plural: "widgets",
    scope: "Namespaced",
    // its own rules leave metadata alone, so that every fault of it is reported once
    upstreamChecks: { metadataUpdate: 0 },
    doc: "",
    validate: ({ spec: { name } }) => [
      ...(name === "odd" ? [{ field: "spec", message: "odd" }] : []),
      ...(name.length === 0 ? [{ field: "spec.name", message: "too short" }] : []),
    ],
  },
  { spec: f.message(2, WidgetSpec, "").always() },
)

const meta = { name: "a", namespace: "default" }
const make = (spec: object, metadata: object = meta) => decodeObject(Widget, { metadata, spec }).object
const lines = (causes: readonly Cause[]) =>
  causes.map(({ field, reason, message }) => `${field}: ${message} (${reason})`)
const good = { name: "n", items: ["x"] }

describe("validateObject", () => {
  test.each<[string, object, string[]]>([
    [
      "no fault of a valid object",
      { ...good, ports: [{ number: 1 }], modes: ["a"], count: 0, title: "abc", host: "h" },
      [],
    ],
    [
      "missing required fields",
      {},
      ["spec.name: Required value (FieldValueRequired)", "spec.items: Required value (FieldValueRequired)"],
    ],
    [
      "empty text and lists count as absent",
      { name: "", items: [] },
      ["spec.name: Required value (FieldValueRequired)", "spec.items: Required value (FieldValueRequired)"],
    ],
    [
      "the range of a number in a list",
      { ...good, ports: [{ number: 1 }, { number: 0 }] },
      ["spec.ports[1].number: Invalid value: 0: must be between 1 and 65535, inclusive (FieldValueInvalid)"],
    ],
    [
      "a number in a map, zero where nothing was sent",
      { ...good, byName: { x: {} } },
      ["spec.byName[x].number: Invalid value: 0: must be between 1 and 65535, inclusive (FieldValueInvalid)"],
    ],
    [
      "an enum",
      { ...good, ports: [{ number: 1, protocol: "SCTP" }] },
      ['spec.ports[0].protocol: Unsupported value: "SCTP": supported values: "TCP", "UDP" (FieldValueNotSupported)'],
    ],
    [
      "an enum of items",
      { ...good, modes: ["a", "c"] },
      ['spec.modes[1]: Unsupported value: "c": supported values: "a", "b" (FieldValueNotSupported)'],
    ],
    [
      "a minimum",
      { ...good, count: -1 },
      ["spec.count: Invalid value: -1: must be greater than or equal to 0 (FieldValueInvalid)"],
    ],
    [
      "the length in bytes, not in characters",
      { ...good, title: "éé" },
      ["spec.title: Too long: may not be more than 3 bytes (FieldValueTooLong)"],
    ],
    [
      "a check",
      { ...good, host: "a b" },
      ['spec.host: Invalid value: "a b": must not contain spaces (FieldValueInvalid)'],
    ],
    [
      "faults of nested objects of the same type",
      { ...good, inner: { items: ["y"] } },
      ["spec.inner.name: Required value (FieldValueRequired)"],
    ],
    [
      "the kind's own rules, after the declared ones",
      { ...good, name: "odd", host: "a b" },
      ['spec.host: Invalid value: "a b": must not contain spaces (FieldValueInvalid)', "spec: odd (undefined)"],
    ],
    [
      "the kind's own rules although a required list is empty",
      { name: "odd", items: [] },
      ["spec.items: Required value (FieldValueRequired)", "spec: odd (undefined)"],
    ],
    [
      "no fault of the kind's own rules about missing fields",
      {},
      ["spec.name: Required value (FieldValueRequired)", "spec.items: Required value (FieldValueRequired)"],
    ],
    [
      "an enum in the order of its declaration",
      { ...good, level: "mid" },
      ['spec.level: Unsupported value: "mid": supported values: "low", "high" (FieldValueNotSupported)'],
    ],
  ])("reports %s", (_title, spec, wanted) => {
    expect(lines(validateObject(Widget, make(spec)))).toEqual(wanted)
  })

  test.each<[string, object, RegExp[]]>([
    ["no name", { namespace: "a" }, [/^metadata.name: Required value: name or generateName is required/]],
    ["a bad name", { ...meta, name: "A" }, [/^metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must/]],
    ["a bad prefix", { ...meta, generateName: "Ab-" }, [/^metadata.generateName: Invalid value: "Ab-"/]],
    ["a good prefix", { ...meta, generateName: "a-" }, []],
    ["no namespace", { name: "a" }, [/^metadata.namespace: Required value/]],
    [
      "a label",
      { ...meta, labels: { "a b": "c d" } },
      [
        /^metadata.labels: Invalid value: "a b": name part must/,
        /^metadata.labels: Invalid value: "c d": a valid label/,
      ],
    ],
    ["an annotation key in capitals", { ...meta, annotations: { "EXAMPLE.com/A": "anything at all" } }, []],
    [
      "annotations of 256 KiB and more",
      { ...meta, annotations: { a: "x".repeat(256 * 1024) } },
      [/^metadata.annotations: Too long: may not be more than 262144 bytes/],
    ],
    [
      "an owner without uid",
      { ...meta, ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "x", uid: "" }] },
      [/^metadata.ownerReferences.uid: Invalid value: "": must not be empty/],
    ],
    [
      "two controllers",
      {
        ...meta,
        ownerReferences: ["a", "b"].map((name) => ({
          apiVersion: "v1",
          kind: "Pod",
          name,
          uid: name,
          controller: true,
        })),
      },
      [/Only one reference can have Controller set to true. Found "true" in references for Pod\/a and Pod\/b/],
    ],
    [
      "an owner without a version",
      { ...meta, ownerReferences: [{ apiVersion: "a/b/c", kind: "Pod", name: "x", uid: "u" }] },
      [/^metadata.ownerReferences.apiVersion: Invalid value: "a\/b\/c": version must not be empty/],
    ],
    [
      "a label key that breaks two rules",
      { ...meta, labels: { "": "x" } },
      [
        /^metadata.labels: Invalid value: "": name part must be non-empty \(/,
        /^metadata.labels: Invalid value: "": name part must consist of/,
      ],
    ],
    [
      "a name that breaks two rules",
      { ...meta, name: "A".repeat(254) },
      [
        /^metadata.name: Invalid value: "A+": must be no more than 253 characters/,
        /^metadata.name: Invalid value: "A+": a lowercase RFC 1123 subdomain/,
      ],
    ],
    [
      "a finalizer",
      { ...meta, finalizers: ["a b"] },
      [
        /^metadata.finalizers: Invalid value: "a b"/,
        /^metadata.finalizers\[0\]: Invalid value: "a b": name is neither a standard finalizer name nor is it fully qualified/,
      ],
    ],
    [
      "a finalizer without a domain",
      { ...meta, finalizers: ["example.com/a", "mine"] },
      [
        /^metadata.finalizers\[1\]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified/,
      ],
    ],
    ["both deletion finalizers", { ...meta, finalizers: ["orphan", "foregroundDeletion"] }, [/cannot be both set/]],
    [
      "a managed fields entry",
      { ...meta, managedFields: [{ manager: "a\u0000" }] },
      [
        /managedFields\[0\].operation: Invalid value: "": must be `Apply` or `Update`/,
        /managedFields\[0\].manager: Invalid value: .*invalid character U\+0000 \(at position 1\)/,
      ],
    ],
  ])("validates metadata: %s", (_title, metadata, wanted) => {
    const found = lines(validateObject(Widget, make(good, metadata)))
    expect(found.length).toBe(wanted.length)
    wanted.forEach((pattern, i) => expect(found[i]).toMatch(pattern))
  })

  test("refuses a namespace for a cluster-scoped kind", () => {
    const Thing = defineResource(
      { group: "", version: "v1", kind: "Thing", plural: "things", scope: "Cluster", doc: "" },
      {},
    )
    expect(lines(validateObject(Thing, decodeObject(Thing, { metadata: meta }).object))).toEqual([
      "metadata.namespace: Forbidden: not allowed on this type (FieldValueForbidden)",
    ])
  })
})

describe("validateObjectUpdate", () => {
  const old = make({ ...good, selector: { a: "b" } }, { ...meta, resourceVersion: "1", uid: "u" })
  const stored = old.metadata
  test.each<[string, object, object, string[]]>([
    ["an unchanged object", { ...good, selector: { a: "b" } }, stored, []],
    [
      "a changed immutable field",
      { ...good, selector: { a: "c" } },
      stored,
      ['spec.selector: Invalid value: {"a":"c"}: field is immutable (FieldValueInvalid)'],
    ],
    [
      "a missing resourceVersion",
      { ...good, selector: { a: "b" } },
      { ...stored, resourceVersion: "" },
      ['metadata.resourceVersion: Invalid value: "": must be specified for an update (FieldValueInvalid)'],
    ],
    [
      "another name and uid",
      { ...good, selector: { a: "b" } },
      { ...stored, name: "b", uid: "v" },
      [
        'metadata.name: Invalid value: "b": field is immutable (FieldValueInvalid)',
        'metadata.uid: Invalid value: "v": field is immutable (FieldValueInvalid)',
      ],
    ],
  ])("validates the change %s", (_title, spec, metadata, wanted) => {
    expect(lines(validateObjectUpdate(Widget, make(spec, metadata), old))).toEqual(wanted)
  })

  test("allows no new finalizers while the object is being deleted", () => {
    const deleting = { ...old, metadata: { ...stored, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["a/b"] } }
    const more = { ...deleting, metadata: { ...deleting.metadata, finalizers: ["a/b", "c/d"] } }
    expect(lines(validateObjectUpdate(Widget, more, deleting))).toEqual([
      "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found " +
        'new finalizers []string{"c/d"} (FieldValueForbidden)',
    ])
  })
})
