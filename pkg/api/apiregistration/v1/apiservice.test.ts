import { describe, expect, test } from "bun:test"
import { decodeObject } from "../../../apimachinery/decoding/decode.ts"
import { tableOf } from "../../../apimachinery/table/table.ts"
import { validateObject } from "../../../apimachinery/validation/validate.ts"
import { APIService } from "./apiservice.ts"

const NAME = "v1.agg.example.com"
const spec = (more: object) => ({
  group: "agg.example.com",
  version: "v1",
  groupPriorityMinimum: 1,
  versionPriority: 1,
  ...more,
})
const decoded = (value: object): APIService => decodeObject(APIService, value).object

/** The error messages of Kubernetes 1.36.2. */
const REFUSED = [
  {
    title: "the name of another version",
    name: "v2.agg.example.com",
    given: spec({}),
    wants: [
      'metadata.name: Invalid value: "v2.agg.example.com": must be `spec.version+"."+spec.group`: "v1.agg.example.com"',
    ],
  },
  {
    title: "another version of the core group",
    name: "v2.",
    given: spec({ group: "", version: "v2" }),
    wants: ["spec.group: Required value: only v1 may have an empty group and it better be legacy kube"],
  },
  {
    title: "no priorities",
    name: NAME,
    given: { group: "agg.example.com", version: "v1" },
    wants: [
      "spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000",
      "spec.versionPriority: Invalid value: 0: must be positive and less than 1000",
    ],
  },
  {
    title: "a CA bundle for a local APIService",
    name: NAME,
    given: spec({ caBundle: "YWJj", insecureSkipTLSVerify: true }),
    wants: [
      'spec.caBundle: Invalid value: "3 bytes": local APIServices may not have a caBundle',
      "spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify",
    ],
  },
  {
    title: "a Service without a name",
    name: NAME,
    given: spec({ service: {} }),
    wants: ["spec.service.namespace: Required value", "spec.service.name: Required value"],
  },
  {
    title: "a port out of range, and both insecureSkipTLSVerify and a CA bundle",
    name: NAME,
    given: spec({
      service: { namespace: "a", name: "b", port: 70_000 },
      caBundle: "YWJj",
      insecureSkipTLSVerify: true,
    }),
    wants: [
      "spec.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive",
      "spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present",
    ],
  },
]

describe("an APIService", () => {
  test.each(REFUSED)("is refused with $title", ({ name, given, wants }) => {
    const causes = validateObject(APIService, decoded({ metadata: { name }, spec: given }))
    expect(causes.map(({ field, message }) => `${field}: ${message}`)).toEqual(wants)
  })

  test("with a Service gets the default port, and has a column for its availability", () => {
    const service = decoded({ metadata: { name: NAME }, spec: spec({ service: { namespace: "a", name: "b" } }) })
    expect(service.spec.service?.port).toBe(443)
    const cells = (status: object) =>
      tableOf(APIService, [{ ...service, status } as APIService], {
        metadata: {},
        now: 0,
        includeObject: "None",
      }).rows[0]!.cells.slice(1, 3)
    expect(cells({})).toEqual(["a/b", "Unknown"])
    expect(cells({ conditions: [{ type: "Available", status: "False", reason: "MissingEndpoints" }] })).toEqual([
      "a/b",
      "False (MissingEndpoints)",
    ])
  })
})
