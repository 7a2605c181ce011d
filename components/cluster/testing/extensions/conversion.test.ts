import { describe, expect, test } from "bun:test"
import { Namespace, startCluster, type ConversionWebhook, type KubeObject } from "../testing.ts"

const GROUP = "example.com"
const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `hosts.${GROUP}` },
  spec: {
    group: GROUP,
    scope: "Namespaced",
    names: { plural: "hosts", kind: "Host" },
    versions: ["v1", "v2"].map((name) => ({
      name,
      served: true,
      storage: name === "v1",
      schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    })),
    conversion: {
      strategy: "Webhook",
      webhook: {
        conversionReviewVersions: ["v1"],
        clientConfig: { service: { namespace: "hooks", name: "hosts", path: "/convert" } },
      },
    },
  },
}
interface Host extends KubeObject {
  readonly hostPort?: string
  readonly host?: string
  readonly port?: string
}
/** v1 has `hostPort`, v2 has `host` and `port`. */
const splitting: ConversionWebhook = {
  convert: ({ hostPort, host, port, ...object }, apiVersion) => {
    if (apiVersion === `${GROUP}/v1`) return { ...object, apiVersion, hostPort: `${String(host)}:${String(port)}` }
    const [first, second] = String(hostPort).split(":")
    return { ...object, apiVersion, host: first, port: second }
  },
}
const v1 = (name: string, hostPort: string) => ({
  apiVersion: `${GROUP}/v1`,
  kind: "Host",
  metadata: { name, namespace: "default" },
  hostPort,
})

/** A cluster whose webhook can be replaced while it runs. */
async function clusterWith(webhook: { current: ConversionWebhook["convert"] }) {
  const cluster = await startCluster({
    webhooks: { "hooks/hosts/convert": { convert: (...given) => webhook.current(...given) } },
  })
  await cluster.apply(definition)
  const kind = (version: string) => cluster.kind(`${GROUP}/${version}`, "Host")
  return { cluster, kind }
}
const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } }
const broken = (): never => {
  throw new Error("out of order")
}

describe("a conversion webhook that is a function of the test", () => {
  test("converts objects of one version to another", async () => {
    const { cluster, kind } = await clusterWith({ current: splitting.convert.bind(splitting) })
    await using _cluster = cluster
    await cluster.apply(v1("web", "example.com:80"))
    expect(await cluster.get(kind("v2"), "web")).toMatchObject({ host: "example.com", port: "80" })
    await cluster.apply({ ...v1("db", ""), apiVersion: `${GROUP}/v2`, hostPort: undefined, host: "db", port: "5432" })
    expect(await cluster.get(kind("v1"), "db")).toMatchObject({ hostPort: "db:5432" })
  })

  test("that fails is reported in the error, and one that does not answer fails after 30 seconds of virtual time", async () => {
    const webhook = { current: splitting.convert.bind(splitting) as ConversionWebhook["convert"] }
    const { cluster, kind } = await clusterWith(webhook)
    await using _cluster = cluster
    await cluster.apply(v1("web", "example.com:80"))
    webhook.current = broken
    const why = (read: Promise<unknown>) =>
      read.then(
        () => "",
        (err: Error) => err.message,
      )
    const words = `conversion webhook for ${GROUP}/v1, Kind=Host failed: `
    expect(await why(cluster.get(kind("v2"), "web"))).toContain(`${words}out of order`)
    const before = cluster.now.getTime()
    webhook.current = () => new Promise(() => undefined)
    expect(await why(cluster.get(kind("v2"), "web"))).toContain("context deadline exceeded")
    expect(cluster.now.getTime() - before).toBe(30_000)
  })

  test("sends events in order to watchers of another version after it has failed for a while", async () => {
    // given a watcher of v2
    const webhook = { current: splitting.convert.bind(splitting) as ConversionWebhook["convert"] }
    const { cluster, kind } = await clusterWith(webhook)
    await using _cluster = cluster
    await cluster.apply(v1("a", "a:1"))
    const seen: string[] = []
    let [last, ends] = ["0", 0]
    const watch = () =>
      cluster.client.watch(
        kind("v2"),
        { resourceVersion: last },
        {
          onEvent: (event) => {
            if (event.type === "ERROR") throw event.error
            const { type, object } = event
            last = object.metadata.resourceVersion!
            seen.push(`${type} ${object.metadata.name} ${String((object as Host).host)}`)
          },
          onEnd: () => void ends++,
        },
      )
    watch()
    await cluster.advance("1s")
    // when conversions fail, then nothing is told, and the watch ends, as one of Kubernetes' watch cache does
    webhook.current = broken
    await cluster.apply(v1("b", "b:1"))
    await cluster.apply(v1("a", "changed:1"))
    await cluster.client.delete(kind("v1"), { namespace: "default", name: "b" })
    await cluster.advance("1m")
    expect([seen, ends]).toEqual([["ADDED a a"], 1])
    // when they work again, and the watcher goes on where it was
    webhook.current = splitting.convert.bind(splitting)
    await cluster.advance("1m")
    const again = watch()
    await cluster.advance("1s")
    // then
    expect([seen, ends]).toEqual([["ADDED a a", "ADDED b b", "MODIFIED a changed", "DELETED b b"], 1])
    again.close()
  })

  test("that is slow delays no other request", async () => {
    const webhook = { current: splitting.convert.bind(splitting) as ConversionWebhook["convert"] }
    const { cluster, kind } = await clusterWith(webhook)
    await using _cluster = cluster
    await cluster.apply(v1("web", "example.com:80"))
    webhook.current = () => new Promise(() => undefined)
    const slow = cluster.client.get(kind("v2"), { namespace: "default", name: "web" }).catch(() => "failed")
    const before = cluster.now.getTime()
    await cluster.apply(v1("db", "db:1"))
    expect(await cluster.list(kind("v1"))).toHaveLength(2)
    expect(cluster.now.getTime()).toBe(before)
    await cluster.advance("30s")
    expect(await slow).toBe("failed")
  })

  test("that fails does not keep a namespace whose objects are stored in a served version", async () => {
    const { cluster } = await clusterWith({ current: broken })
    await using _cluster = cluster
    await cluster.apply(namespace)
    await cluster.apply({ ...v1("web", "example.com:80"), metadata: { name: "web", namespace: "team" } })
    await cluster.delete(Namespace, "team")
    await cluster.advance("1m")
    expect(await cluster.find(Namespace, "team")).toBeUndefined()
  })

  test("that fails keeps a namespace with objects of an older version until the webhook works again", async () => {
    // given an object in a namespace, whose definition stores another version since
    const webhook: { current: ConversionWebhook["convert"] } = { current: broken }
    const { cluster } = await clusterWith(webhook)
    await using _cluster = cluster
    await cluster.apply(namespace)
    await cluster.apply({ ...v1("web", "example.com:80"), metadata: { name: "web", namespace: "team" } })
    const versions = definition.spec.versions.map((each) => ({ ...each, storage: each.name === "v2" }))
    await cluster.apply({ ...definition, spec: { ...definition.spec, versions } })
    // when the namespace is deleted while nothing can be converted
    await cluster.delete(Namespace, "team")
    await cluster.advance("1m")
    const { status } = await cluster.get(Namespace, "team")
    const failure = status?.conditions?.find(({ type }) => type === "NamespaceDeletionContentFailure")
    expect(failure?.status).toBe("True")
    expect(failure?.message).toContain("out of order")
    // when that is over
    webhook.current = splitting.convert.bind(splitting)
    await cluster.advance("30m")
    expect(await cluster.find(Namespace, "team")).toBeUndefined()
  })
})
