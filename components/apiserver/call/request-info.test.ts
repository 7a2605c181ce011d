import { describe, expect, test } from "bun:test"
import { isReason } from "../../../pkg/apimachinery/errors.ts"
import { requestInfo } from "./request-info.ts"

describe("a request line", () => {
  const rows: [method: string, url: string, expected: Record<string, unknown>][] = [
    ["GET", "/api/v1/namespaces", { verb: "list", resource: "namespaces", namespace: "", name: "" }],
    ["GET", "/api/v1/namespaces/other", { verb: "get", resource: "namespaces", namespace: "other", name: "other" }],
    [
      "PUT",
      "/api/v1/namespaces/other/finalize",
      { verb: "update", resource: "namespaces", name: "other", subresource: "finalize" },
    ],
    [
      "GET",
      "/api/v1/namespaces/other/status",
      { verb: "get", resource: "namespaces", name: "other", subresource: "status" },
    ],
    ["GET", "/api/v1/namespaces/other/pods", { verb: "list", resource: "pods", namespace: "other" }],
    ["GET", "/api/v1/namespaces/other/pods/foo", { verb: "get", resource: "pods", namespace: "other", name: "foo" }],
    ["HEAD", "/api/v1/namespaces/other/pods/foo", { verb: "get", resource: "pods", name: "foo" }],
    ["GET", "/api/v1/pods", { verb: "list", resource: "pods", namespace: "" }],
    ["GET", "/api/v1/pods?watch=true", { verb: "watch", resource: "pods" }],
    ["GET", "/api/v1/pods?watch", { verb: "watch" }],
    ["GET", "/api/v1/pods?watch=false", { verb: "list" }],
    ["GET", "/api/v1/pods?watch=0", { verb: "list" }],
    ["GET", "/api/v1/watch/pods", { verb: "watch", resource: "pods", namespace: "" }],
    [
      "GET",
      "/api/v1/watch/namespaces/other/pods/foo",
      { verb: "watch", resource: "pods", namespace: "other", name: "foo" },
    ],
    [
      "POST",
      "/api/v1/namespaces/other/pods/foo/eviction",
      { verb: "create", resource: "pods", name: "foo", subresource: "eviction" },
    ],
    ["DELETE", "/api/v1/namespaces/other/pods", { verb: "deletecollection", resource: "pods" }],
    ["DELETE", "/api/v1/namespaces/other/pods/foo", { verb: "delete" }],
    [
      "PATCH",
      "/apis/apps/v1/namespaces/other/deployments/web/scale",
      { verb: "patch", group: "apps", version: "v1", resource: "deployments", subresource: "scale" },
    ],
    [
      "GET",
      "/api/v1/namespaces/d/services/http:web:80/proxy/a/b%20c?x=1",
      { verb: "get", name: "http:web:80", subresource: "proxy", rest: "/a/b%20c" },
    ],
    ["GET", "/api/v1/namespaces/d/pods/p/proxy/", { subresource: "proxy", rest: "/" }],
    ["GET", "/api/v1/pods/", { verb: "list", resource: "pods" }],
    ["GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode", { name: "system:node" }],
    ["GET", "/", { isResource: false, verb: "get", path: "/" }],
    ["GET", "/api", { isResource: false }],
    ["GET", "/api/v1", { isResource: false }],
    ["GET", "/api/v1/", { isResource: false }],
    ["GET", "/apis/apps/v1", { isResource: false, path: "/apis/apps/v1" }],
    ["POST", "/readyz/ping", { isResource: false, verb: "post" }],
    ["OPTIONS", "/api/v1/pods", { verb: "", resource: "pods" }],
  ]
  test.each(rows)("%s %s is parsed into verb and resource", (method, url, expected) => {
    expect(requestInfo(method, url)).toMatchObject(expected)
  })

  test.each(["/api/v1/namespaces/default/pods/a%2Fb", "/api/v1/namespaces/default/pods/a%00"])(
    "that contains an encoded slash or NUL in a segment (%s) gets NotFound",
    (url) => {
      expect(() => requestInfo("GET", url)).toThrow("the server could not find the requested resource")
    },
  )

  test.each([["/api/v1/namespaces/%zz/pods"], ["/%"], ["*"], ["http://elsewhere/"], [""]])(
    "that is malformed (%s) gets BadRequest",
    (url) => {
      let thrown: unknown
      try {
        requestInfo("GET", url)
      } catch (err) {
        thrown = err
      }
      expect(isReason(thrown, "BadRequest")).toBe(true)
    },
  )
})
