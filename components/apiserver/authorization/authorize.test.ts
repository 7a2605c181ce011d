import { describe, expect, test } from "bun:test"
import type { AuthorizationDecision } from "../call/request.ts"
import { authorize, authorizedName } from "./authorize.ts"

const user = { name: "jane", groups: [] }
const pods = { user, verb: "list", group: "", version: "v1", resource: "pods" }
const answering = (decision: AuthorizationDecision) => ({ authorize: () => decision })

describe("a request that is not allowed is refused with upstream's message", () => {
  test.each([
    {
      request: { ...pods, namespace: "a" },
      message: 'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "a"',
    },
    {
      request: { ...pods, group: "apps", resource: "deployments", subresource: "scale", verb: "update", name: "web" },
      message:
        'deployments.apps "web" is forbidden: User "jane" cannot update resource "deployments/scale" in API ' +
        'group "apps" at the cluster scope',
    },
    {
      request: { user, verb: "get", path: "/metrics" },
      message: 'forbidden: User "jane" cannot get path "/metrics"',
    },
  ])("$message", ({ request, message }) => {
    expect(() => authorize(answering({ allowed: false, reason: "" }), request)).toThrow(message)
    expect(() => authorize(answering({ allowed: false, reason: "no rule" }), request)).toThrow(`${message}: no rule`)
  })
})

test("the reason of a decision is computed only when it is read", () => {
  // given an authorizer whose reasons cost something
  let worked = 0
  const authorizer = answering({
    allowed: true,
    get reason() {
      worked++
      return "RBAC: allowed"
    },
  })

  // when nobody reads them, and then an audit log does
  authorize(authorizer, pods)
  const withoutAudit = worked
  const noted: string[] = []
  authorize(authorizer, pods, (key, value) => noted.push(`${key}=${value}`))

  // then
  expect(withoutAudit).toBe(0)
  expect(noted).toEqual(["authorization.k8s.io/decision=allow", "authorization.k8s.io/reason=RBAC: allowed"])
})

describe("a request is about", () => {
  test.each([
    { what: "the object in its path", verb: "get", name: "a", fieldSelector: undefined, expected: "a" },
    { what: "the object that a list selects", verb: "list", name: "", fieldSelector: "metadata.name=a", expected: "a" },
    {
      what: "the object that a watch selects",
      verb: "watch",
      name: "",
      fieldSelector: "x=y,metadata.name==a",
      expected: "a",
    },
    {
      what: "no object if the selector excludes one",
      verb: "list",
      name: "",
      fieldSelector: "metadata.name!=a",
      expected: undefined,
    },
    {
      what: "no object if it creates one",
      verb: "create",
      name: "",
      fieldSelector: "metadata.name=a",
      expected: undefined,
    },
    {
      what: "no object if it deletes a collection",
      verb: "deletecollection",
      name: "",
      fieldSelector: "metadata.name=a",
      expected: undefined,
    },
    {
      what: "no object if the name cannot be in a path",
      verb: "list",
      name: "",
      fieldSelector: "metadata.name=a/b",
      expected: undefined,
    },
    {
      what: "no object if the selector cannot be parsed",
      verb: "list",
      name: "",
      fieldSelector: "metadata.name",
      expected: undefined,
    },
  ])("$what", ({ verb, name, fieldSelector, expected }) => {
    expect(authorizedName(verb, name, fieldSelector)).toBe(expected)
  })
})
