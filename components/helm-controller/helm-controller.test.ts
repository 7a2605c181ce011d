import { describe, expect, test } from "bun:test"
import { gzipSync } from "node:zlib"
import { Job } from "../../pkg/api/batch/v1/job.ts"
import { CustomResourceDefinition } from "../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import { ConfigMap } from "../../pkg/api/core/v1/configmap.ts"
import { Event } from "../../pkg/api/core/v1/event/event.ts"
import { Secret } from "../../pkg/api/core/v1/secret/secret.ts"
import { ClusterRoleBinding } from "../../pkg/api/rbac/v1/clusterrolebinding.ts"
import { builtinScheme } from "../../pkg/api/scheme.ts"
import { HelmChart, helmchart, HelmChartConfig, helmchartconfig } from "../../pkg/k3s-kinds/helmchart.ts"
import { decodeRelease, encodeRelease, type Release } from "../../pkg/helm/release.ts"
import { writeTar } from "../../pkg/oci/tar.ts"
import { startCluster, type Cluster } from "../cluster/testing/cluster.ts"
import { createHelmController } from "./helm-controller.ts"

const scheme = builtinScheme()

/** Packs a chart of these files, as `chartContent` has it. */
function packed(files: Readonly<Record<string, string>>, version = "1.0.0"): string {
  const all = { "Chart.yaml": `apiVersion: v2\nname: shop\nversion: ${version}\nappVersion: "2"\n`, ...files }
  const entries = Object.entries(all).map(([name, text]) => ({
    type: "file" as const,
    path: `shop/${name}`,
    data: Buffer.from(text),
  }))
  return gzipSync(writeTar(entries)).toString("base64")
}

const configMap = (name: string, data: string, annotations = "{}") =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, annotations: ${annotations}}\ndata: {value: "${data}"}\n`

const SHOP = {
  "values.yaml": "greeting: hello\nextra: true\nmap: {a: 1, b: 2}\n",
  "templates/web.yaml": configMap(
    "{{ .Release.Name }}-web",
    "{{ .Values.greeting }} {{ .Values.map.a }} {{ .Release.Revision }}",
  ),
  "templates/extra.yaml": `{{- if .Values.extra }}\n${configMap("{{ .Release.Name }}-extra", "x")}{{- end }}\n`,
  "templates/NOTES.txt": "Thank you for {{ .Chart.Name }}.",
}

async function running() {
  const cluster = await startCluster()
  for (const { crd } of [helmchart, helmchartconfig]) await cluster.client.create(CustomResourceDefinition, crd)
  await cluster.settle()
  const context = cluster.contextFor("system:k3ts-helm-controller", ["system:masters"])
  const controller = createHelmController(context, {
    resourceOf: (apiVersion, kind) => scheme.of(apiVersion, kind),
    kubeVersion: "v1.36.0",
    apiVersions: () => ["v1", "apps/v1"],
  })
  await controller.start(new AbortController().signal)
  await cluster.settle()
  return {
    cluster,
    /** Creates or replaces the HelmChart `shop`, in kube-system with the release in `web`. */
    async chart(spec: object): Promise<void> {
      const object = {
        apiVersion: "helm.cattle.io/v1",
        kind: "HelmChart",
        metadata: { name: "shop", namespace: "kube-system" },
        spec: { targetNamespace: "web", createNamespace: true, ...spec },
      }
      await cluster.client.patch(
        HelmChart,
        object.metadata,
        { type: "apply", body: object },
        { fieldManager: "test", force: true },
      )
      await cluster.settle()
    },
    conditions: async () =>
      (await cluster.client.get(HelmChart, { namespace: "kube-system", name: "shop" })).status?.conditions?.map(
        ({ type, status, message = "" }) => `${type}=${status} ${message}`.trim(),
      ),
    values: async () =>
      Object.fromEntries(
        (await cluster.client.list(ConfigMap, { namespace: "web" })).items
          .filter(({ metadata }) => metadata.name !== "kube-root-ca.crt")
          .map(({ metadata, data }) => [metadata.name, data?.["value"]]),
      ),
    releases: async () =>
      (await cluster.client.list(Secret, { namespace: "web", labelSelector: "owner=helm" })).items.map(
        ({ metadata, type }) => `${metadata.name} ${metadata.labels?.["status"]} ${type}`,
      ),
    async [Symbol.asyncDispose]() {
      await controller.stop()
      await cluster.stop()
    },
  }
}

const newest = async (cluster: Cluster, version: number) => {
  const { data } = await cluster.client.get(Secret, { namespace: "web", name: `sh.helm.release.v1.shop.v${version}` })
  return decodeRelease(Buffer.from(data!["release"]!, "base64").toString())
}

describe("a HelmChart", () => {
  test("is installed, upgraded when its values or those of a HelmChartConfig change, and removed with all it had", async () => {
    await using given = await running()
    const { cluster } = given
    // when it is created
    await given.chart({ chartContent: packed(SHOP), valuesContent: "map: {a: 3}", set: { greeting: "good day" } })
    // then
    expect(await given.values()).toEqual({ "shop-web": "good day 3 1", "shop-extra": "x" })
    expect(await given.releases()).toEqual(["sh.helm.release.v1.shop.v1 deployed helm.sh/release.v1"])
    expect(await given.conditions()).toEqual(["JobCreated=False The chart is installed without a Job", "Failed=False"])
    const { metadata } = await cluster.client.get(ConfigMap, { namespace: "web", name: "shop-web" })
    expect([metadata.labels, metadata.annotations]).toEqual([
      { "app.kubernetes.io/managed-by": "Helm" },
      { "meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": "web" },
    ])
    // when a HelmChartConfig adds values
    await cluster.client.create(HelmChartConfig, {
      metadata: { name: "shop", namespace: "kube-system" },
      spec: { valuesContent: "extra: false\nmap: {a: 4}\n" },
    })
    await cluster.settle()
    // then what it leaves out is gone, and the revisions are as `helm history` shows them
    expect(await given.values()).toEqual({ "shop-web": "good day 4 2" })
    expect(await given.releases()).toEqual([
      "sh.helm.release.v1.shop.v1 superseded helm.sh/release.v1",
      "sh.helm.release.v1.shop.v2 deployed helm.sh/release.v1",
    ])
    expect(await newest(cluster, 2)).toMatchObject({
      name: "shop",
      namespace: "web",
      version: 2,
      info: { status: "deployed", description: "Upgrade complete", notes: "Thank you for shop." },
      chart: { metadata: { name: "shop", version: "1.0.0", appVersion: "2" }, values: { map: { a: 1, b: 2 } } },
      config: { greeting: "good day", extra: false, map: { a: 4 } },
    })
    // when nothing changes, then nothing is written
    const { metadata: before } = await cluster.client.get(ConfigMap, { namespace: "web", name: "shop-web" })
    await cluster.advance("10m")
    expect((await given.releases()).length).toBe(2)
    expect((await cluster.client.get(ConfigMap, { namespace: "web", name: "shop-web" })).metadata.resourceVersion).toBe(
      before.resourceVersion,
    )
    // when it is deleted
    await cluster.client.delete(HelmChart, { namespace: "kube-system", name: "shop" })
    await cluster.settle()
    // then
    expect([await given.values(), await given.releases()]).toEqual([{}, []])
    expect((await cluster.client.list(HelmChart)).items).toEqual([])
  })

  test("runs hooks in the order of their weights, waits for their Jobs, and removes them as they ask", async () => {
    await using given = await running()
    const { cluster } = given
    const job = (name: string, weight: number) =>
      `apiVersion: batch/v1\nkind: Job\nmetadata: {name: ${name}, annotations: {"helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-weight": "${weight}", "helm.sh/hook-delete-policy": hook-succeeded}}\n` +
      `spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}\n`
    await given.chart({
      chartContent: packed({ ...SHOP, "templates/hooks.yaml": `${job("second", 5)}---\n${job("first", -1)}` }),
    })
    const jobs = async () =>
      (await cluster.client.list(Job, { namespace: "web" })).items.map(({ metadata }) => metadata.name)
    const complete = async (name: string) => {
      const found = await cluster.client.get(Job, { namespace: "web", name })
      const at = new Date(cluster.now).toISOString().replace(/\.\d+/, "")
      const met = (type: string) => ({ type, status: "True", lastProbeTime: at, lastTransitionTime: at })
      await cluster.client.updateStatus(Job, {
        ...found,
        status: {
          ...found.status,
          startTime: at,
          completionTime: at,
          succeeded: 1,
          active: 0,
          ready: 0,
          uncountedTerminatedPods: {},
          conditions: [met("SuccessCriteriaMet"), met("Complete")],
        },
      })
      await cluster.settle()
    }
    // then the first is there alone, and no object of the chart
    expect([await jobs(), await given.values()]).toEqual([["first"], {}])
    await complete("first")
    expect(await jobs()).toEqual(["first", "second"])
    await complete("second")
    await cluster.advance("1s")
    expect([await jobs(), Object.keys(await given.values())]).toEqual([[], ["shop-extra", "shop-web"]])
  })

  test("whose hook does not end can be changed and deleted, and the controller stops meanwhile", async () => {
    // given a hook that waits for ever
    await using given = await running()
    const hook = `apiVersion: batch/v1\nkind: Job\nmetadata: {name: endless, annotations: {"helm.sh/hook": pre-install}}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}\n`
    await given.chart({ chartContent: packed({ ...SHOP, "templates/hook.yaml": hook }) })
    expect([await given.releases(), await given.values()]).toEqual([
      ["sh.helm.release.v1.shop.v1 pending-install helm.sh/release.v1"],
      {},
    ])
    // when the chart is mended, then it is installed
    await given.chart({ chartContent: packed(SHOP, "1.0.1") })
    expect((await given.releases()).at(-1)).toBe("sh.helm.release.v1.shop.v2 deployed helm.sh/release.v1")
    expect((await newest(given.cluster, 2)).info.description).toBe("Install complete")
    // when it waits again, and is deleted
    const upgrade = hook.replace("pre-install", "pre-upgrade")
    await given.chart({ chartContent: packed({ ...SHOP, "templates/hook.yaml": upgrade }, "1.0.2") })
    expect((await given.releases()).at(-1)).toContain("v3 pending-upgrade")
    await given.cluster.client.delete(HelmChart, { namespace: "kube-system", name: "shop" })
    await given.cluster.settle()
    // then
    expect([await given.releases(), await given.values()]).toEqual([[], {}])
    // and a controller that waits is stopped at the end of the test
    await given.chart({ chartContent: packed({ ...SHOP, "templates/hook.yaml": hook }) })
  })

  test("that cannot be rendered has failed, and is installed when it is mended", async () => {
    await using given = await running()
    await given.chart({ chartContent: packed({ ...SHOP, "templates/bad.yaml": '{{ fail "give a host" }}' }) })
    expect(await given.conditions()).toContain(
      "Failed=True execution error at (shop/templates/bad.yaml:1:3): give a host",
    )
    await given.chart({ chartContent: packed(SHOP, "1.0.1") })
    expect(await given.conditions()).toContain("Failed=False")
    expect(Object.keys(await given.values())).toEqual(["shop-extra", "shop-web"])
  })

  test("whose values do not fit the chart's schema has failed, and nothing of it is installed", async () => {
    await using given = await running()
    const schema = { type: "object", properties: { greeting: { type: "string", maxLength: 5 } } }
    const chartContent = packed({ ...SHOP, "values.schema.json": JSON.stringify(schema) })
    // when
    await given.chart({ chartContent, valuesContent: "greeting: good evening" })
    // then
    expect(await given.conditions()).toContain(
      "Failed=True values don't meet the specifications of the schema(s) in the following chart(s):\nshop:\n- at '/greeting': maxLength: got 12, want 5",
    )
    expect([await given.values(), await given.releases()]).toEqual([{}, []])
    // when
    await given.chart({ chartContent, valuesContent: "greeting: hey" })
    // then
    expect((await given.values())["shop-web"]).toBe("hey 1 1")
  })

  test("whose driver is configmap has its releases in ConfigMaps, as HELM_DRIVER=configmap reads them", async () => {
    await using given = await running()
    const { cluster } = given
    const kept = async () =>
      (await cluster.client.list(ConfigMap, { namespace: "web", labelSelector: "owner=helm" })).items
    await given.chart({ chartContent: packed(SHOP), driver: "configmap" })
    await given.chart({ chartContent: packed(SHOP, "1.0.1"), driver: "configmap" })
    // then
    const items = await kept()
    expect(items.map(({ metadata: { name, labels } }) => [name, labels?.["status"], labels?.["version"]])).toEqual([
      ["sh.helm.release.v1.shop.v1", "superseded", "1"],
      ["sh.helm.release.v1.shop.v2", "deployed", "2"],
    ])
    expect(decodeRelease(items[1]!.data!["release"]!)).toMatchObject({ version: 2, info: { status: "deployed" } })
    expect(await given.releases()).toEqual([])
    // when the driver is to change
    const changed = given.chart({ chartContent: packed(SHOP), driver: "secret" })
    // then
    await expect(changed).rejects.toThrow("driver is immutable after creation")
    // when it is deleted
    await cluster.client.delete(HelmChart, { namespace: "kube-system", name: "shop" })
    await cluster.settle()
    // then
    expect([await given.values(), await kept()]).toEqual([{}, []])
  })

  test("takes nothing that others have made, unless it may", async () => {
    await using given = await running()
    const { cluster } = given
    await cluster.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "web" } })
    await cluster.client.create(ConfigMap, {
      metadata: { namespace: "web", name: "shop-web" },
      data: { value: "mine" },
    })
    await given.chart({ chartContent: packed(SHOP), failurePolicy: "abort" })
    expect((await given.conditions())![1]).toStartWith(
      "Failed=True ConfigMap web/shop-web exists and cannot be imported into the current release: invalid ownership metadata",
    )
    expect(await given.values()).toEqual({ "shop-web": "mine" })
    await given.chart({ chartContent: packed(SHOP), takeOwnership: true, forceConflicts: true })
    expect((await given.values())["shop-web"]).toBe("hello 1 1")
  })

  test("looks up objects of the cluster, also those that depend on others", async () => {
    await using given = await running()
    const { cluster } = given
    await cluster.client.create(ConfigMap, { metadata: { namespace: "default", name: "a" }, data: { next: "b" } })
    await cluster.client.create(ConfigMap, {
      metadata: { namespace: "default", name: "b" },
      data: { found: "treasure" },
    })
    const look = (name: string) => `(lookup "v1" "ConfigMap" "default" ${name}).data`
    const template = `{{ $next := ${look('"a"')}.next }}\n${configMap("found", `{{ ${look("$next")}.found }}`)}`
    await given.chart({ chartContent: packed({ "templates/found.yaml": template }) })
    expect(await given.values()).toEqual({ found: "treasure" })
  })

  const CONFIG_HOOK = configMap("farewell", "bye", '{"helm.sh/hook": post-delete}')
  /** Replaces what is stored of a release, as whoever may write Secrets in its namespace can. */
  const forge = async (cluster: Cluster, version: number, change: (release: Release) => Release) => {
    const ref = { namespace: "web", name: `sh.helm.release.v1.shop.v${version}` }
    const text = encodeRelease(change(await newest(cluster, version)))
    const body = { data: { release: Buffer.from(text).toString("base64") } }
    await cluster.client.patch(Secret, ref, { type: "merge", body })
  }
  const VICTIM = { namespace: "kube-system", name: "victim" }
  const naming = (release: Release): Release => ({
    ...release,
    manifest: `${release.manifest}\n---\n${configMap("victim, namespace: kube-system", "x")}`,
  })

  test("runs the hooks of its release when it is deleted", async () => {
    await using given = await running()
    await given.chart({ chartContent: packed({ ...SHOP, "templates/hook.yaml": CONFIG_HOOK }) })
    await given.cluster.client.delete(HelmChart, { namespace: "kube-system", name: "shop" })
    await given.cluster.settle()
    expect([await given.releases(), await given.values()]).toEqual([[], { farewell: "bye" }])
  })

  test("deletes nothing of others, and makes no one an administrator, when its stored release is forged", async () => {
    // given a release with a hook, and an object of others that has nothing to do with it
    await using given = await running()
    const { client } = given.cluster
    await client.create(ConfigMap, { metadata: VICTIM })
    await given.chart({ chartContent: packed({ ...SHOP, "templates/hook.yaml": CONFIG_HOOK }) })
    // when somebody adds that object to what is stored, and the chart is upgraded
    await forge(given.cluster, 1, naming)
    await given.chart({ chartContent: packed({ ...SHOP, "templates/hook.yaml": CONFIG_HOOK }, "1.0.1") })
    // then it is there
    expect(await client.get(ConfigMap, VICTIM)).toBeDefined()
    // when somebody adds it again, and a hook, and the chart is deleted
    const binding = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "evil" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "editor" }],
    }
    const hook = {
      ...{ name: "evil", kind: "ClusterRoleBinding", path: "shop/templates/evil.yaml" },
      ...{ manifest: JSON.stringify(binding), events: ["pre-delete"] },
    }
    await forge(given.cluster, 2, (release) => ({ ...naming(release), hooks: [...(release.hooks ?? []), hook] }))
    await client.delete(HelmChart, { namespace: "kube-system", name: "shop" })
    await given.cluster.settle()
    // then only what is of the release is gone, and the administrator is told
    expect([await given.releases(), await given.values()]).toEqual([[], {}])
    expect(await client.get(ConfigMap, VICTIM)).toBeDefined()
    const bindings = (await client.list(ClusterRoleBinding)).items.map(({ metadata }) => metadata.name)
    expect(bindings).not.toContain("evil")
    const events = (await client.list(Event, { namespace: "kube-system" })).items
    expect(events.filter(({ reason }) => reason === "HooksNotRun").map(({ message }) => message)).toEqual([
      "The pre-delete hooks of the stored release are not those that k3ts has stored, and are not run",
      "The post-delete hooks of the stored release are not those that k3ts has stored, and are not run",
    ])
  })

  test("that another controller manages is left alone", async () => {
    await using given = await running()
    await given.cluster.client.create(HelmChart, {
      metadata: { namespace: "default", name: "other", annotations: { "helmcharts.cattle.io/managed-by": "another" } },
      spec: { chartContent: packed(SHOP) },
    })
    await given.cluster.settle()
    const { metadata, status } = await given.cluster.client.get(HelmChart, { namespace: "default", name: "other" })
    expect([metadata.finalizers, status]).toEqual([undefined, undefined])
  })
})
