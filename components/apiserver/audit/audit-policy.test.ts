import { describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { readAuditPolicy, type AuditPolicy } from "./audit-policy.ts"
import { auditRules, type AuditAttributes } from "./audit-rules.ts"

/** Reads a policy whose lines after the kind are these. */
function read(lines: string): AuditPolicy {
  const dir = mkdtempSync(join(tmpdir(), "policy-"))
  try {
    const file = join(dir, "policy.yaml")
    writeFileSync(file, `apiVersion: audit.k8s.io/v1\nkind: Policy\n${lines}\n`)
    return readAuditPolicy(file)
  } finally {
    rmSync(dir, { recursive: true })
  }
}

describe("an audit policy", () => {
  test.each([
    ["a level", "rules: [{level: Metadata}]"],
    ["groups of users", "rules: [{level: None, userGroups: ['system:nodes']}]"],
    ["resources", "rules: [{level: RequestResponse, verbs: [get], resources: [{group: apps, resources: [a, b]}]}]"],
    ["paths", "rules: [{level: Metadata, nonResourceURLs: ['/logs*', '/metrics', '*']}]"],
    ["stages in a rule", "rules: [{level: Metadata, omitStages: [RequestReceived]}]"],
    ["stages for all rules", "omitStages: [Panic]\nrules: [{level: Request, omitManagedFields: false}]"],
  ])("may have %s", (_what, lines) => {
    expect(read(lines).rules).toHaveLength(1)
  })

  test.each([
    ["no rule", "rules: []", ":3: rules: Required value: loaded illegal policy with 0 rules"],
    ["no level", "rules:\n- verbs: [get]", ":4: rules[0].level: Required value"],
    [
      "another level",
      "rules:\n- level: FooBar",
      ':4: rules[0].level: Unsupported value: "FooBar": supported values: "None", "Metadata", "Request", "RequestResponse"',
    ],
    [
      "paths and namespaces in one rule",
      "rules:\n- level: Metadata\n  namespaces: [default]\n  nonResourceURLs: [/logs*]",
      ':6: rules[0].nonResourceURLs: Invalid value: ["/logs*"]: rules cannot apply to both regular resources and non-resource URLs',
    ],
    [
      "a version in a group",
      "rules:\n- level: Metadata\n  resources:\n  - group: rbac.authorization.k8s.io/v1beta1",
      ':6: rules[0].resources[0].group: Invalid value: "rbac.authorization.k8s.io/v1beta1": a lowercase RFC 1123 subdomain',
    ],
    [
      "names without resources",
      "rules:\n- level: Metadata\n  resources:\n  - resourceNames: [leader]",
      ':6: rules[0].resources[0].resourceNames: Invalid value: ["leader"]: using resourceNames requires at least one resource',
    ],
    [
      "a path without a slash",
      "rules:\n- level: Metadata\n  nonResourceURLs:\n  - logs",
      ":6: rules[0].nonResourceURLs[0]: Invalid value: \"logs\": non-resource URL rules must begin with a '/' character",
    ],
    [
      "a star inside of a path",
      "rules:\n- level: Metadata\n  nonResourceURLs: [/logs/*.log]",
      "non-resource URL wildcards '*' must be the final character of the rule",
    ],
    [
      "another stage",
      "omitStages: [foo]\nrules: [{level: Metadata}]",
      ':3: omitStages[0]: Invalid value: "foo": allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic',
    ],
    ["a misspelled field", "rules:\n- level: Metadata\n  user: [jane]", ":5: rules[0].user: this field is not known"],
  ])("with %s is refused with the line", (_what, lines, message) => {
    expect(() => read(lines)).toThrow(message)
  })
})

/** Source of the cases: apiserver pkg/audit/policy/checker_test.go. */
describe("the first rule that matches a request counts", () => {
  const tim = { name: "tim@k8s.io", groups: ["humans", "developers"] }
  const core = { user: tim, group: "", version: "v1", resource: "pods" }
  const requests: Readonly<Record<string, AuditAttributes>> = {
    namespaced: { ...core, verb: "get", namespace: "default", name: "busybox" },
    subresource: { ...core, verb: "get", subresource: "log", namespace: "default", name: "busybox" },
    cluster: {
      ...{ user: tim, verb: "get", group: "rbac.authorization.k8s.io", version: "v1beta1" },
      ...{ resource: "clusterroles", name: "edit" },
    },
    path: { user: tim, verb: "get", path: "/logs/kubelet.log" },
    unauthorized: { ...core, user: undefined, verb: "get", namespace: "default", name: "busybox" },
  }
  const rules: Readonly<Record<string, string>> = {
    default: "level: Metadata",
    create: "level: Request, verbs: [create]",
    tims: "level: Metadata, users: ['tim@k8s.io']",
    humans: "level: Metadata, userGroups: [humans]",
    accounts: "level: Request, userGroups: ['system:serviceaccounts']",
    pods: "level: RequestResponse, verbs: [get], resources: [{resources: [pods]}]",
    podLogs: "level: Request, verbs: [get], resources: [{resources: [pods/log]}]",
    podsAll: "level: Request, resources: [{resources: ['*']}]",
    podsSlash: "level: Request, resources: [{resources: ['pods/*']}]",
    slashLog: "level: Request, resources: [{resources: ['*/log']}]",
    clusterRoles: "level: RequestResponse, resources: [{group: rbac.authorization.k8s.io}], namespaces: ['']",
    inDefault: "level: Request, namespaces: [default]",
    inOther: "level: Request, namespaces: [other]",
    editRole: "level: Request, resources: [{group: '*', resources: [clusterroles], resourceNames: [edit]}]",
    viewRole: "level: Request, resources: [{group: '*', resources: [clusterroles], resourceNames: [view]}]",
    logs: "level: RequestResponse, verbs: [get], nonResourceURLs: ['/logs*']",
    metrics: "level: Metadata, verbs: [get], nonResourceURLs: [/metrics]",
  }
  test.each([
    ["namespaced", "Metadata", ["default"]],
    ["namespaced", "None", ["create"]],
    ["namespaced", "Metadata", ["tims"]],
    ["namespaced", "Metadata", ["humans"]],
    ["namespaced", "None", ["accounts"]],
    ["namespaced", "RequestResponse", ["pods"]],
    ["namespaced", "None", ["clusterRoles"]],
    ["namespaced", "None", ["logs"]],
    ["namespaced", "Metadata", ["metrics", "accounts", "default"]],
    ["namespaced", "RequestResponse", ["metrics", "pods", "default"]],
    ["namespaced", "RequestResponse", ["podLogs", "pods"]],
    ["namespaced", "Request", ["inOther", "inDefault"]],
    ["namespaced", "None", ["inOther"]],
    ["cluster", "None", ["inDefault"]],
    ["cluster", "RequestResponse", ["clusterRoles"]],
    ["cluster", "Request", ["editRole", "clusterRoles"]],
    ["cluster", "RequestResponse", ["viewRole", "clusterRoles"]],
    ["cluster", "None", ["pods"]],
    ["path", "Metadata", ["default"]],
    ["path", "None", ["pods"]],
    ["path", "None", ["metrics"]],
    ["path", "RequestResponse", ["logs", "clusterRoles", "default"]],
    ["subresource", "Request", ["podLogs", "pods"]],
    ["subresource", "None", ["pods"]],
    ["subresource", "Request", ["podsAll"]],
    ["subresource", "Request", ["podsSlash"]],
    ["subresource", "Request", ["slashLog"]],
    ["unauthorized", "None", ["tims"]],
    ["unauthorized", "Metadata", ["tims", "default"]],
    ["unauthorized", "None", ["humans"]],
  ])("%s: %s by %j", (request, level, names) => {
    const policy = read(`rules:\n${names.map((name) => `- {${rules[name]!}}`).join("\n")}`)
    expect(auditRules(policy)(requests[request]!).level).toBe(level as "None")
  })

  test("with its stages and those of the policy omitted, and its own word on managedFields", () => {
    const decide = auditRules(
      read(
        "omitManagedFields: true\nomitStages: [Panic]\nrules:\n- {level: Request, omitManagedFields: false, omitStages: [RequestReceived]}",
      ),
    )
    const { omitStages, omitManagedFields } = decide(requests["namespaced"]!)
    expect([...omitStages].sort()).toEqual(["Panic", "RequestReceived"])
    expect(omitManagedFields).toBe(false)
  })
})
