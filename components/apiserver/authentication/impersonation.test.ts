import { describe, expect, test } from "bun:test"
import type { NonResourceRequest, ResourceAttributes, UserInfo } from "../call/request.ts"
import { createImpersonate } from "./impersonation.ts"

const boss: UserInfo = { name: "boss", groups: ["bosses", "system:authenticated"] }
const GET_PODS = { verb: "get", group: "", version: "v1", resource: "pods", namespace: "ns", name: "p" }

type Headers = Readonly<Record<string, readonly string[]>>
type Request = ResourceAttributes | NonResourceRequest

/** A cluster with these rights. `asked` are the questions that its authorizer got, without the user. */
function cluster(allows: (question: string, request: Request) => boolean) {
  const impersonate = createImpersonate()
  return (headers: Headers, sender = boss) => {
    const asked: string[] = []
    const acting = () =>
      impersonate(
        sender,
        { header: (name) => headers[name] ?? [], headerNames: () => Object.keys(headers) },
        { user: sender, ...GET_PODS },
        (request) => {
          const question = questionOf(request)
          asked.push(question)
          return { allowed: allows(question, request), reason: "" }
        },
      )
    return { acting, asked }
  }
}

function questionOf(request: Request): string {
  if ("path" in request) return `${request.verb} ${request.path}`
  const { verb, group, resource, subresource, namespace, name } = request
  const what = subresource === undefined ? resource : `${resource}/${subresource}`
  return [verb, group, what, namespace, name].filter((part) => part).join(" ")
}

const ALL: Headers = {
  "impersonate-user": ["jane"],
  "impersonate-group": ["a", "b"],
  "impersonate-uid": ["7"],
  "impersonate-extra-acme.com%2fscopes": ["r", "w"],
}
const unconstrained = (question: string) => question.startsWith("impersonate ")
const constrained = (question: string) => !unconstrained(question)

describe("a request that impersonates", () => {
  test("needs the right to what it does as another user, and to each part of that user", () => {
    // given
    const { acting, asked } = cluster(constrained)(ALL)
    // when, then
    expect(acting()).toEqual({
      user: {
        name: "jane",
        groups: ["a", "b", "system:authenticated"],
        uid: "7",
        extra: { "acme.com/scopes": ["r", "w"] },
      },
      constraint: "impersonate:user-info",
    })
    expect(asked).toEqual([
      "impersonate-on:user-info:get pods ns p",
      "impersonate:user-info authentication.k8s.io users jane",
      "impersonate:user-info authentication.k8s.io uids 7",
      "impersonate:user-info authentication.k8s.io groups a",
      "impersonate:user-info authentication.k8s.io groups b",
      "impersonate:user-info authentication.k8s.io userextras/acme.com/scopes r",
      "impersonate:user-info authentication.k8s.io userextras/acme.com/scopes w",
    ])
  })

  test("or the right to be that user whatever it does", () => {
    const { acting, asked } = cluster(unconstrained)(ALL)
    expect(acting()).toMatchObject({ user: { name: "jane" } })
    expect(acting().constraint).toBeUndefined()
    expect(asked.slice(0, 7)).toEqual([
      "impersonate-on:user-info:get pods ns p",
      "impersonate users jane",
      "impersonate authentication.k8s.io uids 7",
      "impersonate groups a",
      "impersonate groups b",
      "impersonate authentication.k8s.io userextras/acme.com/scopes r",
      "impersonate authentication.k8s.io userextras/acme.com/scopes w",
    ])
  })

  test("asks first for the rights by which its sender could impersonate before", () => {
    // given a sender who may impersonate without constraints, and has done so
    const rights = cluster(unconstrained)
    rights({ "impersonate-user": ["jane"] }).acting()
    // when the same sender impersonates again
    const { acting, asked } = rights({ "impersonate-user": ["john"] })
    acting()
    // then
    expect(asked).toEqual(["impersonate users john"])
  })

  const agent: UserInfo = {
    name: "system:serviceaccount:ns:agent",
    groups: ["system:serviceaccounts"],
    extra: { "authentication.kubernetes.io/node-name": ["n1"], "authentication.kubernetes.io/pod-name": ["p"] },
  }
  test.each<[name: string, sender: UserInfo, groups: readonly string[], asked: readonly string[]]>([
    [
      "system:node:n1",
      boss,
      ["system:nodes", "system:authenticated"],
      ["impersonate-on:arbitrary-node:get pods ns p", "impersonate:arbitrary-node authentication.k8s.io nodes n1"],
    ],
    [
      "system:node:n1",
      agent,
      ["system:nodes", "system:authenticated"],
      ["impersonate-on:associated-node:get pods ns p", "impersonate:associated-node authentication.k8s.io nodes *"],
    ],
    [
      "system:node:n2",
      agent,
      ["system:nodes", "system:authenticated"],
      ["impersonate-on:arbitrary-node:get pods ns p", "impersonate:arbitrary-node authentication.k8s.io nodes n2"],
    ],
    [
      "system:serviceaccount:ns:builder",
      boss,
      ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
      [
        "impersonate-on:serviceaccount:get pods ns p",
        "impersonate:serviceaccount authentication.k8s.io serviceaccounts ns builder",
      ],
    ],
  ])("of %s by %j has groups %j and asks %j", (name, sender, groups, expected) => {
    const { acting, asked } = cluster(constrained)({ "impersonate-user": [name] }, sender)
    expect(acting().user).toEqual({ name, groups })
    expect(asked).toEqual([...expected])
  })

  test("of an agent's own node is decided without what differs from node to node", () => {
    const users = new Set<string>()
    const rights = cluster((_, { user }) => {
      users.add(JSON.stringify(user.extra))
      return true
    })
    rights({ "impersonate-user": ["system:node:n1"] }, agent).acting()
    expect([...users]).toEqual([
      JSON.stringify({
        "authentication.kubernetes.io/associated-node-keys": [
          "authentication.kubernetes.io/node-name",
          "authentication.kubernetes.io/pod-name",
        ],
      }),
    ])
  })

  test.each<[what: string, headers: Headers]>([
    ["the group system:masters", { "impersonate-group": ["system:masters"] }],
    ["an empty group", { "impersonate-group": [""] }],
    ["an attribute without a domain", { "impersonate-extra-scopes": ["r"] }],
    ["an attribute without a key", { "impersonate-extra-": ["r"] }],
    ["an attribute whose key has a capital letter", { "impersonate-extra-acme.com%2f%53copes": ["r"] }],
    ["an empty attribute", { "impersonate-extra-acme.com%2fscopes": [""] }],
  ])("never gets %s by constrained rights", (_, headers) => {
    const all = { "impersonate-user": ["jane"], ...headers }
    expect(cluster(constrained)(all).acting).toThrow("is forbidden")
    expect(cluster(unconstrained)(all).acting().user.name).toBe("jane")
  })

  test.each<[name: string, sender: UserInfo]>([
    ["system:node:n1", boss],
    ["system:node:n1", agent],
    ["system:serviceaccount:ns:builder", boss],
  ])("of %s has nothing but the name by constrained rights", (name, sender) => {
    for (const more of [
      { "impersonate-group": ["a"] },
      { "impersonate-uid": ["7"] },
      { "impersonate-extra-acme.com%2fscopes": ["r"] },
    ] satisfies Headers[]) {
      const headers = { "impersonate-user": [name], ...more }
      expect(cluster(constrained)(headers, sender).acting).toThrow("is forbidden")
      expect(cluster(unconstrained)(headers, sender).acting().user.name).toBe(name)
    }
  })

  test("of a node is that of an agent's own node only if the sender is a service account", () => {
    const rights = cluster((question) => question.includes(":associated-node"))
    const headers = { "impersonate-user": ["system:node:n1"] }
    expect(rights(headers, agent).acting().constraint).toBe("impersonate:associated-node")
    expect(rights(headers, { ...agent, name: "jane" }).acting).toThrow("is forbidden")
  })

  test("of what is no name of a node is that of any user, and so is a node without constraints", () => {
    const invalid = cluster(constrained)({ "impersonate-user": ["system:node:A_b"] })
    expect(invalid.acting()).toEqual({
      user: { name: "system:node:A_b", groups: ["system:authenticated"] },
      constraint: "impersonate:user-info",
    })
    const node = cluster(unconstrained)({ "impersonate-user": ["system:node:n1"] })
    expect(node.acting().user.groups).toEqual(["system:authenticated"])
    expect(node.asked).toEqual(["impersonate-on:arbitrary-node:get pods ns p", "impersonate users system:node:n1"])
  })

  test("of many values of attributes asks for the right to all", () => {
    const { acting, asked } = cluster(constrained)({
      "impersonate-user": ["jane"],
      "impersonate-extra-acme.com%2fscopes": ["a", "b", "c", "d"],
    })
    acting()
    expect(asked.flatMap((question) => question.split(" userextras/")[1] ?? [])).toEqual(["* *"])
  })

  test("of many groups asks for the right to all groups, and for each without it", () => {
    // given
    const headers = { "impersonate-user": ["jane"], "impersonate-group": ["a", "b", "c", "d"] }
    const all = cluster(constrained)(headers)
    const each = cluster((question) => constrained(question) && !question.endsWith("*"))(headers)
    // when
    all.acting()
    each.acting()
    // then
    const groups = (asked: readonly string[]) => asked.flatMap((question) => question.split(" groups ")[1] ?? [])
    expect([groups(all.asked), groups(each.asked)]).toEqual([["*"], ["*", "a", "b", "c", "d"]])
  })

  test("has the group system:unauthenticated if it is that of the anonymous user", () => {
    const groupsOf = (name: string, ...groups: string[]) =>
      cluster(() => true)({ "impersonate-user": [name], "impersonate-group": groups }).acting().user.groups
    const [guest, known] = ["system:unauthenticated", "system:authenticated"]
    expect(groupsOf("system:anonymous")).toEqual([guest])
    expect(groupsOf("system:anonymous", known)).toEqual([known, guest])
    expect(groupsOf("jane", guest)).toEqual([guest])
  })

  test("needs the right to all values of an attribute which several headers have", () => {
    const { acting, asked } = cluster(constrained)({
      "impersonate-user": ["jane"],
      "impersonate-extra-acme.com%2fscopes": ["r"],
      "impersonate-extra-%61cme.com%2fscopes": ["w"],
    })
    expect(acting().user.extra).toEqual({ "acme.com/scopes": ["r", "w"] })
    expect(asked.flatMap((question) => question.split(" userextras/")[1] ?? [])).toEqual([
      "acme.com/scopes r",
      "acme.com/scopes w",
    ])
  })

  test("is refused with a message that names the right which was missed first", () => {
    // given
    const rights = cluster((question) => question === "impersonate users jane")
    const asMaster = { "impersonate-user": ["jane"], "impersonate-group": ["system:masters"] }
    // when nothing is known about the sender, the constrained right is missed first
    expect(rights(asMaster).acting).toThrow(
      'pods "p" is forbidden: User "boss" cannot impersonate-on:user-info:get resource "pods" in API group "" in the ' +
        'namespace "ns"',
    )
    // and after an impersonation without constraints the other
    rights({ "impersonate-user": ["jane"] }).acting()
    expect(rights(asMaster).acting).toThrow(
      'groups "system:masters" is forbidden: User "boss" cannot impersonate resource "groups" in API group "" at the ' +
        "cluster scope",
    )
  })

  test("must name a user", () => {
    const rights = cluster(() => true)
    expect(rights({ "impersonate-group": ["a"] }).acting).toThrow("without impersonating a user")
    expect(rights({ "impersonate-extra-a": ["b"] }).acting).toThrow("without impersonating a user")
    expect(rights({}).acting()).toEqual({ user: boss })
  })
})
