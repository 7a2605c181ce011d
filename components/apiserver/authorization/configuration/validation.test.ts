import { describe, expect, test } from "bun:test"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseConfiguration } from "../../../../pkg/config-file/config-file.ts"
import { AUTHORIZATION_KIND } from "./kind.ts"

type Change = Readonly<Record<string, unknown>>

const dir = mkdtempSync(join(tmpdir(), "authorization-kind-"))
const file = join(dir, "kubeconfig")
writeFileSync(file, "")
process.once("exit", () => rmSync(dir, { recursive: true }))

const HOOK = {
  timeout: "5s",
  authorizedTTL: "1m",
  unauthorizedTTL: "1m",
  subjectAccessReviewVersion: "v1",
  matchConditionSubjectAccessReviewVersion: "v1",
  failurePolicy: "NoOpinion",
  connectionInfo: { type: "KubeConfigFile", kubeConfigFile: file },
}

/** Returns what is wrong in a file, without its name and lines. */
function faultsOf(...authorizers: readonly Change[]): string {
  const head = { apiVersion: "apiserver.config.k8s.io/v1", kind: "AuthorizationConfiguration" }
  try {
    parseConfiguration(JSON.stringify({ ...head, authorizers }), "f", [AUTHORIZATION_KIND])
    return ""
  } catch (err) {
    return (err as Error).message.replaceAll(/^f:\d+: /gm, "").replaceAll("authorizers[0].", "")
  }
}
const hook = (change: Change) => faultsOf({ type: "Webhook", name: "hook", webhook: { ...HOOK, ...change } })
const connection = (connectionInfo: Change) => hook({ connectionInfo })
const conditions = (...expressions: readonly string[]) =>
  hook({ matchConditions: expressions.map((expression) => ({ expression })) })
const not = (field: string, value: string, why: string) => `${field}: Invalid value: ${JSON.stringify(value)}: ${why}`
const one = (field: string, value: string, ...choices: readonly string[]) =>
  `${field}: Unsupported value: ${JSON.stringify(value)}: supported values: ${choices.map((choice) => JSON.stringify(choice)).join(", ")}`

/** The verdicts are those of Kubernetes 1.36. Source of the cases: apiserver validation_test.go. */
describe("an AuthorizationConfiguration", () => {
  test.each([
    ["without authorizers", faultsOf(), "authorizers: Required value: at least one authorization mode must be defined"],
    ["with a webhook", hook({}), ""],
    ["with Node and RBAC", faultsOf({ type: "Node", name: "node" }, { type: "RBAC", name: "rbac" }), ""],
    ["without a type", faultsOf({ name: "a" }), "type: Required value"],
    [
      "with a type that is not known",
      faultsOf({ type: "Foo", name: "foo" }),
      one("type", "Foo", "ABAC", "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"),
    ],
    [
      "with one type twice",
      faultsOf({ type: "Node", name: "a" }, { type: "Node", name: "b" }),
      'authorizers[1].type: Duplicate value: "Node"',
    ],
    ["without a name", faultsOf({ type: "Node" }), "name: Required value"],
    [
      "with one name twice",
      faultsOf({ type: "Webhook", name: "a", webhook: HOOK }, { type: "Webhook", name: "a", webhook: HOOK }),
      'authorizers[1].name: Duplicate value: "a"',
    ],
    ["with two webhooks", faultsOf(...["a", "b"].map((name) => ({ type: "Webhook", name, webhook: HOOK }))), ""],
    ["with the name of a domain", faultsOf({ type: "Webhook", name: "mine.example.com", webhook: HOOK }), ""],
    [
      "without a webhook",
      faultsOf({ type: "Webhook", name: "a" }),
      "webhook: Required value: required when type=Webhook",
    ],
    [
      "with a webhook of RBAC",
      faultsOf({ type: "RBAC", name: "rbac", webhook: HOOK }),
      not("webhook", "non-null", "may only be specified when type=Webhook"),
    ],
    ["without a timeout", hook({ timeout: undefined }), "timeout: Required value"],
    ["with a timeout below zero", hook({ timeout: "-30s" }), not("timeout", "-30s", "must be > 0s and <= 30s")],
    ["with a timeout above 30 seconds", hook({ timeout: "60s" }), not("timeout", "60s", "must be > 0s and <= 30s")],
    ["without times for answers", hook({ authorizedTTL: undefined, unauthorizedTTL: undefined }), ""],
    [
      "with a time for permissions below zero",
      hook({ authorizedTTL: "-30s" }),
      not("authorizedTTL", "-30s", "must be > 0s"),
    ],
    [
      "with a time for refusals below zero",
      hook({ unauthorizedTTL: "-30s" }),
      not("unauthorizedTTL", "-30s", "must be > 0s"),
    ],
    [
      "without a version",
      hook({ subjectAccessReviewVersion: undefined }),
      "subjectAccessReviewVersion: Required value",
    ],
    [
      "with a version that is not known",
      hook({ subjectAccessReviewVersion: "v2beta1" }),
      one("subjectAccessReviewVersion", "v2beta1", "v1", "v1beta1"),
    ],
    [
      "with conditions without a version",
      hook({ matchConditionSubjectAccessReviewVersion: undefined, matchConditions: [{ expression: "true" }] }),
      "matchConditionSubjectAccessReviewVersion: Required value: required if match conditions are specified",
    ],
    [
      "with conditions of an older version",
      hook({ matchConditionSubjectAccessReviewVersion: "v1beta1" }),
      one("matchConditionSubjectAccessReviewVersion", "v1beta1", "v1"),
    ],
    ["without a failurePolicy", hook({ failurePolicy: undefined }), "failurePolicy: Required value"],
    ["with another failurePolicy", hook({ failurePolicy: "Fail" }), one("failurePolicy", "Fail", "NoOpinion", "Deny")],
    ["without a way to the webhook", connection({}), "connectionInfo.type: Required value"],
    ["with the way of a pod", connection({ type: "InClusterConfig" }), ""],
    [
      "with the way of a pod and a file",
      connection({ type: "InClusterConfig", kubeConfigFile: "/a" }),
      not("connectionInfo.kubeConfigFile", "/a", "can only be set when type=KubeConfigFile"),
    ],
    ["without the file", connection({ type: "KubeConfigFile" }), "connectionInfo.kubeConfigFile: Required value"],
    [
      "with a file that depends on the folder",
      connection({ type: "KubeConfigFile", kubeConfigFile: "a" }),
      not("connectionInfo.kubeConfigFile", "a", "must be an absolute path"),
    ],
    [
      "with a folder for a file",
      connection({ type: "KubeConfigFile", kubeConfigFile: dir }),
      not("connectionInfo.kubeConfigFile", dir, "must be a regular file"),
    ],
    ["with conditions", conditions("request.user == 'kube-admin'", "has(request.resourceAttributes)"), ""],
    ["with a condition on selectors", conditions("has(request.resourceAttributes.fieldSelector.requirements)"), ""],
    [
      "with 65 conditions",
      conditions(...Array.from({ length: 65 }, (_, i) => `${i} == 1`)),
      "matchConditions: Too many: 65: must have at most 64 items",
    ],
    ["with an empty condition", conditions("  "), "matchConditions[0].expression: Required value"],
    [
      "with one condition twice",
      conditions("request.user == 'a'", "request.user == 'a'"),
      "matchConditions[1].expression: Duplicate value: \"request.user == 'a'\"",
    ],
    [
      "with a text as a condition",
      conditions("request.user"),
      not("matchConditions[0].expression", "request.user", "must evaluate to bool but got string"),
    ],
    [
      "with a condition on what requests do not have",
      conditions("request.object == 'a'"),
      "matchConditions[0].expression: Invalid value: \"request.object == 'a'\": compilation failed: ERROR: <input>:1:8: " +
        "undefined field 'object'",
    ],
  ])("%s is judged as in Kubernetes", (_what, found, wanted) => {
    expect(found.split("\n | ")[0]).toBe(wanted)
  })

  test("of the documentation is valid", () => {
    const page = readFileSync(join(import.meta.dirname, "../../../../docs/sign-in.md"), "utf8")
    const [, text = ""] = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].findLast(([, one]) =>
      one!.includes("Authoriz"),
    )!
    parseConfiguration(text.replace("/etc/k3ts/policy.kubeconfig", file), "docs/sign-in.md", [AUTHORIZATION_KIND])
  })
})
