import { describe, expect, test } from "bun:test"
import { BOOTSTRAP_SCHEMAS } from "../../../pkg/api/flowcontrol/v1/bootstrap.ts"
import { FlowSchema } from "../../../pkg/api/flowcontrol/v1/flowschema.ts"
import type { PolicyRulesWithSubjects, Subject } from "../../../pkg/api/flowcontrol/v1/flowschemaspec.ts"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import type { NonResourceRequest, ResourceAttributes } from "../call/request.ts"
import { matches, rulesFor } from "./matching.ts"

const user = { name: "system:serviceaccount:team:bot", groups: ["system:serviceaccounts", "g"] }
const resource = (more: Partial<ResourceAttributes>): ResourceAttributes => ({
  user,
  verb: "get",
  group: "",
  version: "v1",
  resource: "pods",
  namespace: "team",
  ...more,
})
const path = (text: string, verb = "get"): NonResourceRequest => ({ user, verb, path: text })

function isMatched(
  rules: readonly Partial<PolicyRulesWithSubjects>[],
  request: ResourceAttributes | NonResourceRequest,
) {
  const { object } = decodeObject(FlowSchema, { spec: { priorityLevelConfiguration: { name: "x" }, rules } })
  const found = rulesFor(request.user, object)
  return found !== undefined && matches(found, request)
}

const EVERYTHING = {
  resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] }],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
}

describe("a subject", () => {
  test.each<{ readonly subject: Subject; readonly wants: boolean }>([
    { subject: { kind: "User", user: { name: user.name } }, wants: true },
    { subject: { kind: "User", user: { name: "*" } }, wants: true },
    { subject: { kind: "User", user: { name: "bot" } }, wants: false },
    { subject: { kind: "Group", group: { name: "g" } }, wants: true },
    { subject: { kind: "Group", group: { name: "*" } }, wants: true },
    { subject: { kind: "Group", group: { name: "h" } }, wants: false },
    { subject: { kind: "ServiceAccount", serviceAccount: { namespace: "team", name: "bot" } }, wants: true },
    { subject: { kind: "ServiceAccount", serviceAccount: { namespace: "team", name: "*" } }, wants: true },
    { subject: { kind: "ServiceAccount", serviceAccount: { namespace: "team", name: "bo" } }, wants: false },
    { subject: { kind: "ServiceAccount", serviceAccount: { namespace: "tea", name: "*" } }, wants: false },
    { subject: { kind: "ServiceAccount", serviceAccount: { namespace: "*", name: "*" } }, wants: false },
    { subject: { kind: "ServiceAccount", group: { name: "g" } }, wants: false },
  ])("%j", ({ subject, wants }) => {
    expect(isMatched([{ subjects: [subject], ...EVERYTHING }], resource({}))).toBe(wants)
  })
})

describe("a rule about resources", () => {
  const rule = { verbs: ["get"], apiGroups: [""], resources: ["pods", "nodes/status"], namespaces: ["team"] }
  test.each<{ readonly title: string; readonly given: Partial<ResourceAttributes>; readonly wants: boolean }>([
    { title: "matches a request whose verb, group, resource and namespace it names", given: {}, wants: true },
    { title: "does not match another verb", given: { verb: "list" }, wants: false },
    { title: "does not match another group", given: { group: "apps" }, wants: false },
    { title: "does not match another resource", given: { resource: "nodes" }, wants: false },
    { title: "does not match a subresource that it does not name", given: { subresource: "status" }, wants: false },
    { title: "matches a subresource that it names", given: { resource: "nodes", subresource: "status" }, wants: true },
    { title: "does not match another namespace", given: { namespace: "other" }, wants: false },
    { title: "does not match a request for all namespaces", given: { namespace: undefined }, wants: false },
  ])("$title", ({ given, wants }) => {
    const subjects = [{ kind: "Group", group: { name: "g" } }]
    expect(isMatched([{ subjects, resourceRules: [rule] }], resource(given))).toBe(wants)
  })

  test.each([
    { clusterScope: true, namespaces: null, namespace: undefined, wants: true },
    { clusterScope: true, namespaces: null, namespace: "team", wants: false },
    { clusterScope: false, namespaces: ["*"], namespace: "team", wants: true },
    { clusterScope: false, namespaces: ["*"], namespace: undefined, wants: false },
  ])("with %j", ({ clusterScope, namespaces, namespace, wants }) => {
    const resourceRules = [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope, namespaces }]
    const subjects = [{ kind: "Group", group: { name: "g" } }]
    expect(isMatched([{ subjects, resourceRules }], resource({ namespace }))).toBe(wants)
  })
})

describe("a rule about paths", () => {
  test.each([
    { urls: ["/healthz"], given: "/healthz", wants: true },
    { urls: ["/healthz"], given: "/healthz/etcd", wants: true },
    { urls: ["/healthz"], given: "/healthzz", wants: false },
    { urls: ["/apis/*"], given: "/apis/apps", wants: true },
    { urls: ["/apis/*"], given: "/api", wants: false },
    { urls: ["/"], given: "/", wants: true },
    { urls: ["*"], given: "/metrics", wants: true },
  ])("with $urls matches the path $given: $wants", ({ urls, given, wants }) => {
    const subjects = [{ kind: "Group", group: { name: "g" } }]
    expect(isMatched([{ subjects, nonResourceRules: [{ verbs: ["get"], nonResourceURLs: urls }] }], path(given))).toBe(
      wants,
    )
    expect(isMatched([{ subjects, nonResourceRules: [{ verbs: ["post"], nonResourceURLs: urls }] }], path(given))).toBe(
      false,
    )
  })
})

describe("the first of the default FlowSchemas that matches", () => {
  const node = { name: "system:node:a", groups: ["system:nodes", "system:authenticated"] }
  const account = (namespace: string) => ({
    name: `system:serviceaccount:${namespace}:bot`,
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
  })
  const component = (name: string) => ({ name, groups: ["system:authenticated"] })
  const lease = { group: "coordination.k8s.io", resource: "leases", namespace: "kube-node-lease" }
  test.each<{ readonly wants: string; readonly given: ResourceAttributes | NonResourceRequest }>([
    { wants: "exempt", given: resource({ user: { name: "admin", groups: ["system:masters"] } }) },
    { wants: "probes", given: { user: component("jane"), verb: "get", path: "/livez" } },
    { wants: "system-node-high", given: resource({ user: node, ...lease, verb: "update" }) },
    { wants: "system-node-high", given: resource({ user: node, resource: "nodes", namespace: undefined }) },
    { wants: "system-nodes", given: resource({ user: node }) },
    { wants: "system-leader-election", given: resource({ user: component("system:kube-scheduler"), ...lease }) },
    { wants: "kube-scheduler", given: resource({ user: component("system:kube-scheduler"), ...lease, verb: "watch" }) },
    { wants: "kube-controller-manager", given: resource({ user: component("system:kube-controller-manager") }) },
    { wants: "kube-system-service-accounts", given: resource({ user: account("kube-system") }) },
    { wants: "service-accounts", given: resource({ user: account("team") }) },
    { wants: "global-default", given: resource({ user: component("jane") }) },
    { wants: "global-default", given: { user: component("jane"), verb: "get", path: "/version" } },
  ])("is $wants", ({ wants, given }) => {
    const found = BOOTSTRAP_SCHEMAS.find(({ spec }) => {
      const rules = rulesFor(given.user, { spec } as FlowSchema)
      return rules !== undefined && matches(rules, given)
    })
    expect(found?.name).toBe(wants)
  })
})
