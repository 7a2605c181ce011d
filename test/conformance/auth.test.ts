/** Service accounts, tokens and authorization. Source of the assertions: test/e2e/auth. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startConformanceCluster, type ConformanceCluster, type Loose } from "./cluster.ts"

let cluster: ConformanceCluster
const NS = "/api/v1/namespaces/svcaccounts"
beforeAll(async () => {
  cluster = await startConformanceCluster({ controllers: true })
  await cluster.post("/api/v1/namespaces", { metadata: { name: "svcaccounts" } })
  await cluster.until(`${NS}/serviceaccounts/default`, (account) => account !== undefined)
})
afterAll(() => cluster.stop())

const pod = (name: string, spec: object = {}) => ({
  metadata: { name },
  spec: { containers: [{ name: "c", image: "registry.example/c:1" }], ...spec },
})
const mounts = (made: Loose) =>
  (made.spec as unknown as { containers: { volumeMounts?: { mountPath: string }[] }[] }).containers.flatMap(
    ({ volumeMounts = [] }) => volumeMounts.map(({ mountPath }) => mountPath),
  )

describe("service accounts", () => {
  test("mount their token unless the pod, or else the account, turns that off", async () => {
    for (const [name, automount] of [
      ["mount", true],
      ["nomount", false],
      ["default-mount", undefined],
    ] as const)
      await cluster.post(`${NS}/serviceaccounts`, {
        metadata: { name },
        ...(automount === undefined ? {} : { automountServiceAccountToken: automount }),
      })
    const rows: [string, boolean | undefined, boolean][] = [
      ["default-mount", undefined, true],
      ["default-mount", true, true],
      ["default-mount", false, false],
      ["mount", undefined, true],
      ["mount", true, true],
      ["mount", false, false],
      ["nomount", undefined, false],
      ["nomount", true, true],
      ["nomount", false, false],
    ]
    for (const [serviceAccountName, automount, expected] of rows) {
      const made = await cluster.post(
        `${NS}/pods`,
        pod(`p-${serviceAccountName}-${automount}`, {
          serviceAccountName,
          ...(automount === undefined ? {} : { automountServiceAccountToken: automount }),
        }),
      )
      expect([
        serviceAccountName,
        automount,
        mounts(made).includes("/var/run/secrets/kubernetes.io/serviceaccount"),
      ]).toEqual([serviceAccountName, automount, expected])
    }
    const absent = await cluster.send("POST", `${NS}/pods`, { body: pod("absent", { serviceAccountName: "absent" }) })
    expect([absent.code, absent.body.message]).toEqual([
      403,
      'pods "absent" is forbidden: error looking up service account svcaccounts/absent: serviceaccount ' +
        '"absent" not found',
    ])
  })

  test("are created, read, patched, updated, listed and deleted", async () => {
    const watch = await cluster.watch(`${NS}/serviceaccounts?labelSelector=test-serviceaccount-static%3Dtrue`)
    await cluster.post(`${NS}/serviceaccounts`, {
      metadata: { name: "testserviceaccount", labels: { "test-serviceaccount-static": "true" } },
    })
    await cluster.patch(`${NS}/serviceaccounts/testserviceaccount`, "strategic", {
      automountServiceAccountToken: false,
    })
    expect(
      (await cluster.get("/api/v1/serviceaccounts?labelSelector=test-serviceaccount-static%3Dtrue")).items.map(
        (account) => account["automountServiceAccountToken"],
      ),
    ).toEqual([false])
    await cluster.delete(`${NS}/serviceaccounts?labelSelector=test-serviceaccount-static%3Dtrue`)
    expect((await watch.until((events) => events.length >= 3)).map(({ type }) => type)).toEqual([
      "ADDED",
      "MODIFIED",
      "DELETED",
    ])
    watch.close()
  })

  test("get tokens that a TokenReview accepts as theirs", async () => {
    const made = await cluster.post(`${NS}/serviceaccounts`, { metadata: { name: "e2e" } })
    const answer = await cluster.send("POST", `${NS}/serviceaccounts/e2e/token`, {
      body: { spec: { expirationSeconds: 600 } },
    })
    expect([answer.code, answer.body.kind, answer.body.apiVersion]).toEqual([
      201,
      "TokenRequest",
      "authentication.k8s.io/v1",
    ])
    const token = answer.body.status["token"] as string
    const review = await cluster.post("/apis/authentication.k8s.io/v1/tokenreviews", { spec: { token } })
    const status = review.status as unknown as {
      authenticated: boolean
      user: { username: string; uid: string; groups: string[]; extra: Record<string, string[]> }
    }
    expect([status.authenticated, status.user.username, status.user.uid]).toEqual([
      true,
      "system:serviceaccount:svcaccounts:e2e",
      made.metadata.uid,
    ])
    expect(status.user.groups.toSorted()).toEqual([
      "system:authenticated",
      "system:serviceaccounts",
      "system:serviceaccounts:svcaccounts",
    ])
    expect(Object.keys(status.user.extra)).toContain("authentication.kubernetes.io/credential-id")
    expect(
      (await cluster.post("/apis/authentication.k8s.io/v1/tokenreviews", { spec: { token: "none" } })).status[
        "authenticated"
      ],
    ).not.toBe(true)
    expect(
      (await cluster.ok("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", { body: {}, token })).status,
    ).toMatchObject({ userInfo: { username: "system:serviceaccount:svcaccounts:e2e" } })
    const short = await cluster.send("POST", `${NS}/serviceaccounts/e2e/token`, {
      body: { spec: { expirationSeconds: 60 } },
    })
    expect([short.code, short.body.message]).toEqual([
      422,
      'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 60: may not ' +
        "specify a duration less than 10 minutes",
    ])
  })

  test("are meant by their uid where a request names it, also in a dry run", async () => {
    const path = `${NS}/serviceaccounts/e2e`
    const { uid } = (await cluster.get(path)).metadata
    const answer = await cluster.send("POST", `${path}/token?dryRun=All`, { body: { metadata: { uid }, spec: {} } })
    expect(answer).toMatchObject({ code: 201, body: { metadata: { uid, name: "e2e" } } })
    expect(answer.body.status["token"]).toMatch(/^ey/)
    expect(await cluster.send("POST", `${path}/token`, { body: { metadata: { uid: "x" }, spec: {} } })).toMatchObject({
      code: 409,
      body: {
        message:
          'Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "e2e": the UID in the token request ' +
          `(x) does not match the UID of the service account (${uid})`,
      },
    })
  })

  test("get tokens bound to a pod, which are valid as long as the pod exists", async () => {
    const made = await cluster.post(`${NS}/pods`, pod("bound", { serviceAccountName: "default" }))
    const request = (uid: string) =>
      cluster.send("POST", `${NS}/serviceaccounts/default/token`, {
        body: { spec: { boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "bound", uid } } },
      })
    const other = await request("other")
    expect([other.code, other.body.message]).toEqual([
      409,
      'Operation cannot be fulfilled on Pod "bound": the UID in the bound object reference (other) does not match ' +
        `the UID in record. The object might have been deleted and then recreated`,
    ])
    const token = (await request(made.metadata.uid)).body.status["token"] as string
    const review = async () =>
      (await cluster.post("/apis/authentication.k8s.io/v1/tokenreviews", { spec: { token } })).status
    expect(await review()).toMatchObject({
      authenticated: true,
      user: {
        extra: {
          "authentication.kubernetes.io/pod-name": ["bound"],
          "authentication.kubernetes.io/pod-uid": [made.metadata.uid],
        },
      },
    })
    await cluster.delete(`${NS}/pods/bound`, { gracePeriodSeconds: 0 })
    expect((await review())["authenticated"]).not.toBe(true)
  })
})

test("kube-root-ca.crt is in every namespace, even after it is deleted or changed", async () => {
  const path = `${NS}/configmaps/kube-root-ca.crt`
  const first = await cluster.until(path, (map) => map?.data?.["ca.crt"] !== undefined)
  await cluster.delete(path)
  await cluster.until(
    path,
    (map) => map !== undefined && map.metadata.uid !== first.metadata.uid && map.data?.["ca.crt"] !== undefined,
  )
  await cluster.put(path, { metadata: { name: "kube-root-ca.crt" }, data: { "ca.crt": "" } })
  await cluster.until(path, (map) => map?.data?.["ca.crt"] === first.data!["ca.crt"])
})

describe("access reviews", () => {
  test("give the same answer as a request of that user", async () => {
    const account = await cluster.post(`${NS}/serviceaccounts`, { metadata: { name: "reviewed" } })
    const user = "system:serviceaccount:svcaccounts:reviewed"
    const groups = ["system:authenticated", "system:serviceaccounts", "system:serviceaccounts:svcaccounts"]
    const spec = {
      resourceAttributes: { verb: "list", resource: "configmaps", namespace: "svcaccounts", version: "v1" },
      user,
      groups,
      uid: account.metadata.uid,
    }
    const allowed = async () => [
      (await cluster.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", { spec })).status["allowed"],
      (
        await cluster.post("/apis/authorization.k8s.io/v1/namespaces/svcaccounts/localsubjectaccessreviews", {
          metadata: { namespace: "svcaccounts" },
          spec,
        })
      ).status["allowed"],
      (
        await cluster.send("GET", `${NS}/configmaps`, {
          headers: { "impersonate-user": user, "impersonate-uid": account.metadata.uid },
        })
      ).code === 200,
    ]
    expect(await allowed()).toEqual([false, false, false])
    await cluster.post("/apis/rbac.authorization.k8s.io/v1/namespaces/svcaccounts/rolebindings", {
      metadata: { name: "view" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
      subjects: [{ kind: "ServiceAccount", name: "reviewed", namespace: "svcaccounts" }],
    })
    expect(await allowed()).toEqual([true, true, true])
    const impersonated = { headers: { "impersonate-user": user } }
    expect(
      (
        await cluster.ok("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
          body: { spec: { resourceAttributes: spec.resourceAttributes } },
          ...impersonated,
        })
      ).status["allowed"],
    ).toBe(true)
    expect(
      (
        await cluster.ok("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
          body: { spec: { resourceAttributes: { ...spec.resourceAttributes, resource: "secrets" } } },
          ...impersonated,
        })
      ).status["allowed"],
    ).toBe(false)
    const rules = await cluster.ok("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {
      body: { spec: { namespace: "svcaccounts" } },
      ...impersonated,
    })
    expect(JSON.stringify(rules.status)).toContain("configmaps")
  })

  const roles = async (name: string) =>
    (await cluster.get(`/apis/rbac.authorization.k8s.io/v1/clusterroles/${name}`))["rules"] as {
      apiGroups?: string[]
      resources?: string[]
      verbs: string[]
    }[]
  const allows = (rules: Awaited<ReturnType<typeof roles>>, verb: string, group: string, resource: string) =>
    rules.some(
      (rule) =>
        rule.verbs.includes(verb) &&
        rule.apiGroups?.includes(group) === true &&
        rule.resources?.includes(resource) === true,
    )
  // The rights that upstream's bootstrappolicy/policy.go gives to view, edit and admin.
  const TABLE: [verb: string, group: string, resource: string, view: boolean, edit: boolean, admin: boolean][] = [
    ["get", "", "pods", true, true, true],
    ["get", "", "pods/log", true, true, true],
    ["get", "", "pods/status", true, true, true],
    ["create", "", "pods", false, true, true],
    ["create", "", "pods/eviction", false, true, true],
    ["create", "", "pods/exec", false, true, true],
    ["get", "", "pods/exec", false, true, true],
    ["create", "", "pods/portforward", false, true, true],
    ["get", "", "pods/proxy", false, true, true],
    ["get", "", "services/proxy", false, true, true],
    ["get", "", "secrets", false, true, true],
    ["create", "", "secrets", false, true, true],
    ["get", "", "configmaps", true, true, true],
    ["create", "", "configmaps", false, true, true],
    ["get", "", "serviceaccounts", true, true, true],
    ["impersonate", "", "serviceaccounts", false, true, true],
    ["create", "", "serviceaccounts/token", false, true, true],
    ["get", "", "bindings", true, true, true],
    ["get", "", "events", true, true, true],
    ["create", "events.k8s.io", "events", false, true, true],
    ["get", "", "limitranges", true, true, true],
    ["create", "", "limitranges", false, false, false],
    ["get", "", "resourcequotas", true, true, true],
    ["create", "", "resourcequotas", false, false, false],
    ["get", "", "namespaces", true, true, true],
    ["delete", "", "namespaces", false, false, false],
    ["get", "", "endpoints", true, true, true],
    ["create", "", "endpoints", false, false, false],
    ["get", "", "persistentvolumeclaims", true, true, true],
    ["create", "", "persistentvolumeclaims", false, true, true],
    ["get", "", "persistentvolumes", false, false, false],
    ["get", "", "nodes", false, false, false],
    ["get", "apps", "deployments", true, true, true],
    ["patch", "apps", "deployments/scale", false, true, true],
    ["create", "apps", "deployments/rollback", false, true, true],
    ["get", "apps", "controllerrevisions", true, true, true],
    ["create", "apps", "controllerrevisions", false, false, false],
    ["get", "batch", "jobs", true, true, true],
    ["create", "batch", "cronjobs", false, true, true],
    ["get", "policy", "poddisruptionbudgets", true, true, true],
    ["create", "policy", "poddisruptionbudgets", false, true, true],
    ["get", "networking.k8s.io", "networkpolicies", true, true, true],
    ["create", "networking.k8s.io", "ingresses", false, true, true],
    ["get", "discovery.k8s.io", "endpointslices", true, true, true],
    ["create", "discovery.k8s.io", "endpointslices", false, false, false],
    ["get", "coordination.k8s.io", "leases", false, true, true],
    ["create", "coordination.k8s.io", "leases", false, true, true],
    ["get", "rbac.authorization.k8s.io", "roles", false, false, true],
    ["create", "rbac.authorization.k8s.io", "rolebindings", false, false, true],
    ["create", "authorization.k8s.io", "localsubjectaccessreviews", false, false, true],
    ["get", "autoscaling", "horizontalpodautoscalers", true, true, true],
    ["create", "autoscaling", "horizontalpodautoscalers", false, true, true],
  ]
  test("find upstream's rights in view, edit and admin", async () => {
    const [view, edit, admin] = [await roles("view"), await roles("edit"), await roles("admin")]
    const found = TABLE.map(([verb, group, resource]) => [
      verb,
      group,
      resource,
      allows(view, verb, group, resource),
      allows(edit, verb, group, resource),
      allows(admin, verb, group, resource),
    ])
    expect(found).toEqual(TABLE)
  })
})
