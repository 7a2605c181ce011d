import { describe, expect, test } from "bun:test"
import { metricsOf } from "../cluster.fixtures.ts"
import { ConfigMap, Deployment, startCluster, ValidatingWebhookConfiguration, type ApiError } from "../testing.ts"

const RULE = { operations: ["CREATE", "UPDATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }
const policy = (spec: object) => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicy",
  metadata: { name: "policy" },
  spec: { matchConstraints: { resourceRules: [RULE] }, ...spec },
})
const binding = (spec: object = {}) => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicyBinding",
  metadata: { name: "everywhere" },
  spec: { policyName: "policy", validationActions: ["Deny"], ...spec },
})
const configMap = (name: string, data: Readonly<Record<string, string>> = {}) => ({
  metadata: { name, namespace: "default" },
  data,
})

async function clusterWith(...objects: readonly object[]) {
  const cluster = await startCluster({ components: { controllers: false } })
  await cluster.apply(objects as never)
  return cluster
}
const refusedBy = (promise: Promise<unknown>): Promise<string | undefined> =>
  promise.then(
    () => undefined,
    (err: ApiError) => err.message,
  )
const DENIED = "ValidatingAdmissionPolicy 'policy' with binding 'everywhere' denied request: "

describe("a ValidatingAdmissionPolicy", () => {
  const CASES: readonly { title: string; spec: object; wants: string | undefined }[] = [
    {
      title: "whose validations are true allows the request",
      spec: { validations: [{ expression: "object.data.size() == 1" }] },
      wants: undefined,
    },
    {
      title: "whose validation is false refuses with the expression",
      spec: { validations: [{ expression: "object.data.size() == 2" }] },
      wants: "failed expression: object.data.size() == 2",
    },
    {
      title: "refuses with the message of its validation",
      spec: { validations: [{ expression: "false", message: "no more" }] },
      wants: "no more",
    },
    {
      title: "refuses with the result of messageExpression",
      spec: {
        validations: [{ expression: "false", messageExpression: "'not ' + object.metadata.name", message: "x" }],
      },
      wants: "not a",
    },
    {
      title: "whose expression fails refuses the request",
      spec: { validations: [{ expression: "object.spec.replicas == 1" }] },
      wants: "expression 'object.spec.replicas == 1' resulted in error: no such key: spec",
    },
    {
      title: "whose expression fails allows the request with failurePolicy Ignore",
      spec: { failurePolicy: "Ignore", validations: [{ expression: "object.spec.replicas == 1" }] },
      wants: undefined,
    },
    {
      title: "applies only to requests that match its matchConditions",
      spec: {
        matchConditions: [{ name: "updates", expression: "request.operation == 'UPDATE'" }],
        validations: [{ expression: "false" }],
      },
      wants: undefined,
    },
    {
      title: "can use its variables",
      spec: {
        variables: [
          { name: "keys", expression: "object.data.map(k, k)" },
          { name: "first", expression: "variables.keys[0]" },
        ],
        validations: [{ expression: "variables.first != 'a'", messageExpression: "'key ' + variables.first" }],
      },
      wants: "key a",
    },
    {
      title: "can read the namespace and the user",
      spec: {
        validations: [
          { expression: "namespaceObject.metadata.name == 'default'" },
          { expression: "request.userInfo.username == 'nobody'", message: "who is it" },
        ],
      },
      wants: "who is it",
    },
    {
      title: "can ask the authorizer about the sender and other users",
      spec: {
        validations: [
          { expression: "authorizer.requestResource.check('approve').allowed()" },
          {
            expression:
              "authorizer.serviceAccount('default', 'x').group('apps').resource('deployments').check('get').allowed()",
            message: "x may not",
          },
        ],
      },
      wants: "x may not",
    },
    {
      title: "does not apply to an object that excludeResourceRules match",
      spec: {
        matchConstraints: { resourceRules: [RULE], excludeResourceRules: [{ ...RULE, resourceNames: ["a"] }] },
        validations: [{ expression: "false" }],
      },
      wants: undefined,
    },
  ]
  test.each(CASES)("$title", async ({ spec, wants }) => {
    await using cluster = await clusterWith(policy(spec), binding())
    const refused = await refusedBy(cluster.client.create(ConfigMap, configMap("a", { a: "1" })))
    expect(refused).toBe(wants === undefined ? undefined : `configmaps "a" is forbidden: ${DENIED}${wants}`)
  })

  test("has no effect without a binding", async () => {
    await using cluster = await clusterWith(policy({ validations: [{ expression: "false" }] }))
    expect(await refusedBy(cluster.client.create(ConfigMap, configMap("a")))).toBeUndefined()
  })

  test("applies in its new form after a change", async () => {
    await using cluster = await clusterWith(policy({ validations: [{ expression: "false" }] }), binding())
    expect(await refusedBy(cluster.client.create(ConfigMap, configMap("a")))).toBeDefined()
    await cluster.apply(policy({ validations: [{ expression: "true" }] }) as never)
    expect(await refusedBy(cluster.client.create(ConfigMap, configMap("a")))).toBeUndefined()
  })

  test("has an object as its parameters, and refuses requests if the object does not exist", async () => {
    await using cluster = await clusterWith(
      policy({
        paramKind: { apiVersion: "v1", kind: "ConfigMap" },
        matchConstraints: {
          resourceRules: [{ ...RULE, apiGroups: ["apps"], resources: ["deployments"] }],
        },
        validations: [{ expression: "object.spec.replicas <= int(params.data.most)" }],
      }),
      binding({ paramRef: { name: "limits", namespace: "default", parameterNotFoundAction: "Deny" } }),
    )
    const labels = { app: "web" }
    const deployment = (replicas: number) => ({
      metadata: { name: "web", namespace: "default" },
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "web" }] } },
      },
    })
    const prefix = `deployments.apps "web" is forbidden: ${DENIED}`
    expect(await refusedBy(cluster.client.create(Deployment, deployment(1)))).toBe(
      `${prefix}failed to configure binding: no params found for policy binding with \`Deny\` parameterNotFoundAction`,
    )
    await cluster.client.create(ConfigMap, configMap("limits", { most: "3" }))
    expect(await refusedBy(cluster.client.create(Deployment, deployment(4)))).toBe(
      `${prefix}failed expression: object.spec.replicas <= int(params.data.most)`,
    )
    expect(await refusedBy(cluster.client.create(Deployment, deployment(3)))).toBeUndefined()
  })

  test("with an expression that does not compile is refused with the position of the fault", async () => {
    await using cluster = await clusterWith()
    const refused = await refusedBy(
      cluster.apply(policy({ validations: [{ expression: "object.x == nothing" }] }) as never),
    )
    expect(refused).toContain("undeclared reference to 'nothing' (in container '')")
    expect(refused).toContain("spec.validations[0].expression")
  })

  test("that exceeds the cost limit is stopped, and refuses the request", async () => {
    const data = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`k${i}`, "x"]))
    await using cluster = await clusterWith(
      policy({
        validations: [
          {
            expression:
              "object.data.all(a, object.data.all(b, object.data.all(c, object.data.all(d, a != b || c != d || true))))",
          },
        ],
      }),
      binding(),
    )
    expect(await refusedBy(cluster.client.create(ConfigMap, configMap("a", data)))).toContain(
      "operation cancelled: actual cost limit exceeded",
    )
  })

  test("applies to webhook configurations, but not to policies, bindings and access reviews", async () => {
    const everything = { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] }
    await using cluster = await clusterWith(
      policy({ matchConstraints: { resourceRules: [everything] }, validations: [{ expression: "false" }] }),
      binding(),
    )
    const configuration = { metadata: { name: "hooks" }, webhooks: [] }
    expect(await refusedBy(cluster.client.create(ValidatingWebhookConfiguration, configuration))).toContain(DENIED)
    expect(await refusedBy(cluster.apply(binding({ validationActions: ["Warn"] }) as never))).toBeUndefined()
  })

  test("counts its refusals and audit annotations in metrics", async () => {
    await using cluster = await clusterWith(
      policy({ validations: [{ expression: "false" }, { expression: "object.spec.x == 1" }] }),
      binding({ validationActions: ["Deny", "Audit"] }),
    )
    expect(await refusedBy(cluster.client.create(ConfigMap, configMap("a")))).toBeDefined()
    const metrics = await metricsOf(cluster)
    for (const action of ["deny", "audit"])
      expect(metrics).toContain(
        `apiserver_validating_admission_policy_check_total{enforcement_action="${action}",error_type="invalid_error",` +
          `policy="policy",policy_binding="everywhere"} 2`,
      )
  })

  test("counts in metrics which match conditions failed or excluded a request", async () => {
    await using cluster = await clusterWith(
      policy({
        failurePolicy: "Ignore",
        matchConditions: [
          { name: "error", expression: "object.data.none == 'x'" },
          { name: "name", expression: "object.metadata.name != 'left-out'" },
        ],
        validations: [{ expression: "true" }],
      }),
      binding(),
    )
    await cluster.client.create(ConfigMap, configMap("a", { x: "y" }))
    await cluster.client.create(ConfigMap, configMap("left-out", { x: "y" }))
    const metrics = await metricsOf(cluster)
    const of = '{kind="policy",name="policy",operation="CREATE",type="validate"}'
    expect(metrics).toContain(`apiserver_admission_match_condition_evaluation_errors_total${of} 2`)
    expect(metrics).toContain(`apiserver_admission_match_condition_evaluation_seconds_count${of} 2`)
    // as Kubernetes counts requests that webhooks are not asked about, and no others
    expect(metrics).not.toContain("match_condition_exclusions_total{")
  })
})
