import { describe, expect, test } from "bun:test"
import { startCluster, type Cluster } from "../../../../components/cluster/testing/testing.ts"
import { forecast, SETTLING } from "../../../../components/cluster/testing/forecast/forecast.ts"
import { startFork } from "../../../../components/cluster/testing/forecast/fork.ts"
import { readObjects } from "../../../../components/cluster/testing/snapshot.ts"
import { encodeRelease } from "../../../../pkg/helm/release.ts"
import { requestedUses } from "./api-usage.ts"
import { nodesInTurn } from "./nodes-in-turn.ts"
import { upgradeOf, upgradeWords, type Upgrade } from "./upgrade.ts"
import { upgradeText } from "./upgrade-text.ts"

const upgradeIn = async (cluster: Cluster, ...words: readonly string[]): Promise<Upgrade> => {
  const { objects } = await readObjects(await cluster.snapshot())
  return upgradeOf({ ...upgradeWords(words), objects })
}

const applied = (apiVersion: string) => ({
  "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify({ apiVersion }),
})

describe("an upgrade of a cluster", () => {
  test("names what was written by versions that the release does not have, and what to use instead", async () => {
    // given an object that kubectl has applied by an old version, and a release of Helm with one
    await using cluster = await startCluster({ nodes: 1 })
    const release = encodeRelease({
      name: "shop",
      namespace: "default",
      version: 1,
      info: { first_deployed: "", last_deployed: "", deleted: "", description: "", status: "deployed" },
      chart: {},
      config: {},
      manifest: "---\napiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n---\n# nothing\n",
    })
    await cluster.apply([
      {
        apiVersion: "autoscaling/v2",
        kind: "HorizontalPodAutoscaler",
        metadata: { name: "web", namespace: "default", annotations: applied("autoscaling/v2beta2") },
        spec: { maxReplicas: 2, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" } },
      },
      {
        apiVersion: "v1",
        kind: "Secret",
        type: "helm.sh/release.v1",
        metadata: { name: "sh.helm.release.v1.shop.v1", namespace: "default", labels: { status: "deployed" } },
        stringData: { release },
      },
      {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "plain", namespace: "default", annotations: applied("v1") },
      },
    ])
    // when
    const { from, to, gone, deprecated } = await upgradeIn(cluster)
    // then
    expect([from, to, deprecated]).toEqual(["1.36", "1.37", []])
    expect(gone).toEqual([
      {
        apiVersion: "policy/v1beta1",
        kind: "PodDisruptionBudget",
        object: "PodDisruptionBudget default/web",
        by: "Helm release default/shop has it so",
        deprecatedMinor: 21,
        removedMinor: 25,
        instead: "policy/v1",
      },
      {
        apiVersion: "autoscaling/v2beta2",
        kind: "HorizontalPodAutoscaler",
        object: "HorizontalPodAutoscaler default/web",
        by: "kubectl apply wrote it so",
        deprecatedMinor: 23,
        removedMinor: 26,
        instead: "autoscaling/v2",
      },
    ])
  })

  test("reads releases of Helm that are kept in ConfigMaps, and no other ConfigMap", async () => {
    await using cluster = await startCluster()
    const release = encodeRelease({
      name: "shop",
      namespace: "default",
      version: 1,
      info: { first_deployed: "", last_deployed: "", deleted: "", description: "", status: "deployed" },
      chart: {},
      config: {},
      manifest: "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n",
    })
    const configMap = (name: string, labels: Readonly<Record<string, string>>) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, namespace: "default", labels },
      data: { release },
    })
    await cluster.apply([configMap("other", { status: "deployed" })])
    expect((await upgradeIn(cluster)).gone).toEqual([])
    await cluster.apply([configMap("sh.helm.release.v1.shop.v1", { owner: "helm", status: "deployed" })])
    // then
    const { gone } = await upgradeIn(cluster)
    expect(gone.map(({ object, by }) => [object, by])).toEqual([
      ["PodDisruptionBudget default/web", "Helm release default/shop has it so"],
    ])
  })

  test("tells what is deprecated from what is gone, by the release", async () => {
    // given an object that a client has written by a beta version
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply({
      apiVersion: "networking.k8s.io/v1",
      kind: "ServiceCIDR",
      metadata: { name: "more", annotations: applied("networking.k8s.io/v1beta1") },
      spec: { cidrs: ["10.99.0.0/24"] },
    })
    // when
    const [now, next] = [await upgradeIn(cluster, "1.36"), await upgradeIn(cluster, "v1.37.2")]
    // then
    expect([now.gone.length, now.deprecated.length]).toEqual([0, 1])
    expect([next.gone.length, next.deprecated.length]).toEqual([1, 0])
  })

  test("names deprecated fields once, with the objects that have them", async () => {
    // given
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.kubectl("create deployment web --image nginx --replicas 3")
    await cluster.kubectl([
      "patch",
      "deployment",
      "web",
      `--patch={"spec":{"template":{"spec":{"nodeSelector":{"beta.kubernetes.io/os":"linux"}}}}}`,
    ])
    await cluster.advance("10s")
    // when
    const { fields } = await upgradeIn(cluster)
    // then
    expect(fields).toEqual([
      {
        message:
          'spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
        objects: ["Deployment default/web"],
      },
    ])
  })

  test("says what is not known, and which steps are too large", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    // when
    const upgrade = await upgradeIn(cluster, "1.41")
    // then
    expect(upgradeText(upgrade)).toBe(
      [
        "Upgrade from 1.36 to 1.41: each node is away for 1m in turn, and its pods run on",
        "  API servers are upgraded one minor version after the other: by way of 1.37 to 1.40",
        "  kubelets of 1.36 are too old for an API server of 1.41: three minor versions at most",
        "No deprecated version or field is in use",
        "Not known:",
        "  manifests and programs outside of the cluster, unless they have written objects",
        "  which versions are only read: the metrics of the API server tell, and were not read",
        "  how controllers of 1.41 behave: the copy has those of 1.36",
        "  what 1.41 removes: the table knows releases up to 1.37, and plans after it",
        "  versions of custom resources, which their operators have",
        "",
      ].join("\n"),
    )
  })

  test("to an older version is refused", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    await expect(upgradeIn(cluster, "1.35")).rejects.toThrow("cannot upgrade from 1.36 to 1.35")
    expect(() => upgradeWords(["soon"])).toThrow('unknown "soon"')
  })

  test("reads from the metrics of the API server which deprecated versions were requested", () => {
    const metrics = [
      'apiserver_requested_deprecated_apis{group="policy",removed_release="1.25",resource="poddisruptionbudgets",subresource="",version="v1beta1"} 1',
      'apiserver_requested_deprecated_apis{group="",removed_release="",resource="endpoints",subresource="",version="v1"} 1',
    ].join("\n")
    expect(requestedUses(metrics, 37)).toMatchObject([
      { apiVersion: "policy/v1beta1", kind: "PodDisruptionBudget", by: "it was requested since the API server began" },
    ])
  })

  test("moves no pod where the new kubelet takes containers over", async () => {
    // given
    const copy = await copyWith("create deployment web --image nginx --replicas 4")
    // when
    const found = await forecast(copy, nodesInTurn(false), "15m")
    // then
    expect([found.change.code, found.workloads, found.restarts, found.unwell]).toEqual([0, [], 0, []])
    await copy.stop()
  })

  test("drains node by node, and stops at a budget that allows no eviction", async () => {
    // given
    const copy = await copyWith("create deployment web --image nginx --replicas 4")
    await copy.kubectl("create pdb web --selector app=web --min-available 4")
    await copy.advance("10s")
    // when
    const found = await forecast(copy, nodesInTurn(true), "15m")
    // then
    expect(found.change).toMatchObject({
      code: 1,
      output: expect.stringMatching(/^node node-\d is not drained: .* global timeout/),
    })
    expect(found.budgets).toMatchObject([{ name: "web", pods: expect.any(Number) }])
    await copy.stop()
  })

  test("with a drain moves the pods of each node, and leaves no node cordoned", async () => {
    const copy = await copyWith("create deployment web --image nginx --replicas 4")
    // when
    const found = await forecast(copy, nodesInTurn(true), "15m")
    // then
    expect(found.change.code).toBe(0)
    expect(found.workloads[0]?.ended).toMatchObject({ "node-0": expect.any(Number), "node-1": expect.any(Number) })
    expect((await copy.kubectl("get nodes -o jsonpath={.items[*].spec.unschedulable}")).stdout).toBe("")
    await copy.stop()
  })
})

async function copyWith(command: string): Promise<Cluster> {
  await using cluster = await startCluster({ nodes: 2 })
  await cluster.kubectl(command)
  await cluster.advance("30s")
  const { cluster: copy } = await startFork(await readObjects(await cluster.snapshot()), { seed: 1 })
  await copy.advance(SETTLING)
  return copy
}
