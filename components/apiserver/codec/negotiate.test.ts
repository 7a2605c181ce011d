import { describe, expect, test } from "bun:test"
import { isReason } from "../../../pkg/apimachinery/errors.ts"
import { negotiate, objectBody, OBJECTS, patchBody, STREAMS } from "./negotiate.ts"

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"

describe("an Accept header", () => {
  test.each([
    [undefined, { encoding: "json", as: undefined }],
    ["*/*", { encoding: "json" }],
    ["application/json, */*", { encoding: "json" }],
    ["application/yaml", { encoding: "yaml" }],
    ["application/vnd.kubernetes.protobuf,application/json", { encoding: "protobuf" }],
    ["application/json;q=0.5,application/vnd.kubernetes.protobuf", { encoding: "protobuf" }],
    [
      `${TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json`,
      { encoding: "json", as: "Table", asVersion: "v1" },
    ],
    ["application/json;as=Table;v=v1alpha1;g=meta.k8s.io,application/json", { as: undefined }],
    [
      "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1,application/yaml",
      { encoding: "yaml", as: undefined },
    ],
    [
      "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
      { encoding: "protobuf", as: "PartialObjectMetadata" },
    ],
    ["text/html,application/json;q=0.8", { encoding: "json" }],
    ["application/json;q=0", { encoding: "json" }],
    ["application/json;pretty=1", { pretty: true }],
  ])("%s gets the most preferred supported type", (accept, expected) => {
    expect(negotiate(accept, OBJECTS)).toMatchObject(expected)
  })

  test.each([["text/html"], ["application/xml;q=1"], ["application/*"], [";;;,,"]])(
    "%s is refused, since it contains no supported type",
    (accept) => {
      expect(reason(() => negotiate(accept, OBJECTS), "NotAcceptable")).toBe(true)
    },
  )

  test("of a watch cannot ask for YAML", () => {
    expect(reason(() => negotiate("application/yaml", STREAMS), "NotAcceptable")).toBe(true)
    expect(negotiate("application/json;stream=watch", STREAMS).encoding).toBe("json")
  })
})

test("bodies must have a supported content type", () => {
  expect(objectBody("application/json; charset=utf-8", OBJECTS.encodings)).toBe("json")
  expect(objectBody(undefined, OBJECTS.encodings)).toBe("json")
  expect(patchBody("application/apply-patch+yaml")).toBe("apply-patch")
  expect(reason(() => objectBody("text/plain", OBJECTS.encodings), "UnsupportedMediaType")).toBe(true)
  expect(reason(() => patchBody("application/json"), "UnsupportedMediaType")).toBe(true)
})

function reason(run: () => unknown, expected: "NotAcceptable" | "UnsupportedMediaType"): boolean {
  try {
    run()
    return false
  } catch (err) {
    return isReason(err, expected)
  }
}
