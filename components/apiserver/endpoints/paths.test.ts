import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { CONFIGMAPS, startHttpServer, type Call } from "../serving/http-server.fixtures.ts"

let host: Awaited<ReturnType<typeof startHttpServer>>
let server: typeof host.server
beforeAll(async () => {
  host = await startHttpServer()
  server = host.server
})
afterAll(() => host.stop())

const call = (method: string, path: string, options?: Call) => host.call(method, path, options)

describe("the paths outside of resources", () => {
  test("serve discovery in one document or in many, and answer 304 when it has not changed", async () => {
    const plain = JSON.parse((await call("GET", "/apis")).text) as { groups: { name: string }[] }
    expect(plain.groups.map(({ name }) => name)).toContain("apps")
    const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    const all = await call("GET", "/apis", { headers: { accept } })
    expect(all.headers["content-type"]).toBe("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
    expect(JSON.parse(all.text)).toMatchObject({
      kind: "APIGroupDiscoveryList",
      items: expect.arrayContaining([expect.objectContaining({ metadata: { name: "apps" } })]),
    })
    const again = await call("GET", "/apis", { headers: { accept, "if-none-match": String(all.headers.etag) } })
    expect([again.code, again.text, again.headers["content-type"]]).toEqual([304, "", undefined])
    expect(JSON.parse((await call("GET", "/api/v1")).text)).toMatchObject({
      kind: "APIResourceList",
      groupVersion: "v1",
      resources: expect.arrayContaining([
        expect.objectContaining({ name: "configmaps", storageVersionHash: "qFsyl6wFWjQ=" }),
      ]),
    })
    expect((await call("GET", "/apis/nowhere")).code).toBe(404)
  })

  test("let clients keep OpenAPI: under an address with the hash for a year, else as long as it has not changed", async () => {
    // given the index, and the address of a document
    const index = await call("GET", "/openapi/v3")
    const { paths } = JSON.parse(index.text) as { paths: Record<string, { serverRelativeURL: string }> }
    const address = paths["apis/apps/v1"]!.serverRelativeURL
    const keeping = ({ headers }: Awaited<ReturnType<typeof call>>) => [headers["cache-control"], headers["vary"]]
    // when the document is requested at its address
    const before = Date.now()
    const whole = await call("GET", address)
    // then it says so, also when a client that has it asks
    expect(keeping(whole)).toEqual(["public, immutable", "Accept"])
    const days = (Date.parse(String(whole.headers["expires"])) - before) / 86_400_000
    expect(Math.round(days)).toBe(365)
    const unchanged = await call("GET", address, { headers: { "if-none-match": String(whole.headers["etag"]) } })
    expect([unchanged.code, ...keeping(unchanged)]).toEqual([304, "public, immutable", "Accept"])
    expect(unchanged.headers["expires"]).toBeDefined()
    // and elsewhere clients must ask each time
    const plain = await call("GET", "/openapi/v3/apis/apps/v1")
    expect([...keeping(plain), plain.headers["expires"]]).toEqual(["no-cache, private", "Accept", undefined])
    const headers = { "if-none-match": String(index.headers["etag"]) }
    expect(keeping(index)).toEqual(["no-cache, private", undefined])
    expect((await call("GET", "/openapi/v3", { headers })).code).toBe(304)
  })

  test("say of a packed document that it depends on the accepted type too", async () => {
    const packed = await call("GET", "/openapi/v2", { headers: { "accept-encoding": "gzip" } })
    expect([packed.headers["content-encoding"], packed.headers["vary"]]).toEqual(["gzip", "Accept, Accept-Encoding"])
  })

  test.each([
    { method: "POST", path: "/apis", wants: 200 },
    { method: "OPTIONS", path: "/apis/apps", wants: 200 },
    { method: "DELETE", path: "/healthz", wants: 200 },
    { method: "PUT", path: "/", wants: 200 },
    { method: "POST", path: "/api", wants: 405 },
    { method: "POST", path: "/apis/apps/v1", wants: 405 },
    { method: "DELETE", path: "/version", wants: 405 },
    { method: "POST", path: "/apis/nowhere", wants: 404 },
    { method: "PATCH", path: "/api/v9", wants: 404 },
    { method: "DELETE", path: "/healthz/nothing", wants: 404 },
  ])("answer $method $path with $wants, as upstream's do", async ({ method, path, wants }) => {
    expect((await call(method, path)).code).toBe(wants)
  })

  test("are served as YAML on request, and refused to clients that accept neither JSON nor YAML", async () => {
    const yaml = await call("GET", "/api/v1", { headers: { accept: "application/yaml" } })
    expect([yaml.headers["content-type"], yaml.text.split("\n")[0]]).toEqual(["application/yaml", "groupVersion: v1"])
    const groups = await call("GET", "/apis", { headers: { accept: "application/yaml" } })
    expect(groups.text).toStartWith("apiVersion: v1\ngroups:\n")
    expect((await call("GET", "/api/v1", { headers: { accept: "text/html" } })).code).toBe(406)
    expect((await call("GET", "/version", { headers: { accept: "application/yaml" } })).text).toContain(
      "Available representations: application/json",
    )
  })

  test("report health by named checks, including upstream's", async () => {
    // given all well
    const names = (text: string) => [...text.matchAll(/^\[\+\](\S+) ok$/gm)].map(([, name]) => name!)
    const live = await call("GET", "/livez?verbose")
    const ready = await call("GET", "/readyz?verbose", { token: undefined })
    const starts = names(live.text).filter((name) => /^poststarthook\/|^autoregister-completion$/.test(name))
    for (const name of [
      "poststarthook/rbac/bootstrap-roles",
      "poststarthook/crd-informer-synced",
      "autoregister-completion",
    ])
      expect(starts).toContain(name)
    expect(names(live.text)).toEqual(["ping", "log", "etcd", ...starts])
    expect(live.text).toEndWith("[+]poststarthook/apiservice-openapiv3-controller ok\nlivez check passed\n")
    expect((await call("GET", "/healthz?verbose")).text).toBe(live.text.replace("livez", "healthz"))
    expect(names(ready.text)).toEqual(["ping", "log", "etcd", "etcd-readiness", "informer-sync", ...starts, "shutdown"])
    // then each is there by itself
    for (const name of names(ready.text))
      expect([name, (await call("GET", `/readyz/${name}`)).text]).toEqual([name, "ok"])
    expect((await call("GET", "/livez/shutdown")).code).toBe(404)
    expect((await call("GET", "/readyz?verbose&exclude=etcd&exclude=none&exclude=nothing")).text).toMatch(
      /^\[\+\]ping ok\n\[\+\]log ok\n\[\+\]etcd excluded: ok\n[^]*warn: some health checks cannot be excluded: no matches for "none","nothing"\nreadyz check passed\n$/,
    )
  })

  test("report why a component is unhealthy to clients with the right to know", async () => {
    // given a component that is not well
    const forget = server.health.add("dns", () => "not yet", ["readyz"])

    // then the server is not ready, but alive
    expect((await call("GET", "/readyz")).text).toEndWith(
      "[-]dns failed: not yet\n[+]shutdown ok\nreadyz check failed\n",
    )
    expect(await call("GET", "/readyz/dns")).toMatchObject({ code: 500, text: "internal server error: not yet\n" })
    expect((await call("GET", "/livez")).text).toBe("ok")
    // and everybody learns that, but not why
    expect((await call("GET", "/readyz", { token: undefined })).text).toContain("[-]dns failed: reason withheld\n")
    expect((await call("GET", "/readyz/dns", { token: undefined })).code).toBe(403)
    // and whoever does not mind can say so
    expect((await call("GET", "/readyz?exclude=dns")).text).toBe("ok")
    forget()
    expect((await call("GET", "/readyz")).text).toBe("ok")

    // and one that ends is not ready
    server.health.shuttingDown = true
    expect((await call("GET", "/readyz")).text).toEndWith(
      "[-]shutdown failed: process is shutting down\nreadyz check failed\n",
    )
    server.health.shuttingDown = false
  })

  test("report the health of components as ComponentStatus objects", async () => {
    const statuses = async () =>
      (JSON.parse((await call("GET", "/api/v1/componentstatuses")).text) as { items: unknown[] }).items
    const healthy = (name: string, status: string, message: string) => ({
      metadata: { name },
      conditions: [{ type: "Healthy", status, message }],
    })

    // given a scheduler, and nothing else that told of itself
    let problem: string | undefined
    const forget = server.health.add("scheduler", () => problem, ["readyz"])
    expect(await statuses()).toMatchObject([
      healthy("controller-manager", "False", "it is not running"),
      healthy("etcd-0", "True", "ok"),
      healthy("scheduler", "True", "ok"),
    ])

    // when it is not well
    problem = "it has lost its way"

    // then that is what its status says
    expect(JSON.parse((await call("GET", "/api/v1/componentstatuses/scheduler")).text)).toMatchObject({
      kind: "ComponentStatus",
      apiVersion: "v1",
      ...healthy("scheduler", "False", "it has lost its way"),
    })
    expect((await call("GET", "/api/v1/componentstatuses/kubelet")).code).toBe(404)
    problem = undefined
    expect((await statuses())[2]).toMatchObject(healthy("scheduler", "True", "ok"))
    forget()
  })

  test("count requests in metrics", async () => {
    await call("GET", `${CONFIGMAPS}/none`)
    expect((await call("GET", "/metrics")).text).toMatch(
      /apiserver_request_total\{code="404",component="apiserver",dry_run="",group="",resource="configmaps",scope="resource",subresource="",verb="GET",version="v1"\} \d+/,
    )
  })

  test("serve at /metrics/slis the results of health checks, and nothing else", async () => {
    // given a check that has failed once and is well now
    let problem: string | undefined = "broken"
    const forget = server.health.add("part", () => problem, ["readyz"])
    await call("GET", "/readyz")
    problem = undefined
    await call("GET", "/readyz?exclude=ping")
    forget()

    // when
    const { text } = await call("GET", "/metrics/slis")

    // then
    expect(text).toContain('kubernetes_healthcheck{name="part",type="readyz"} 1\n')
    expect(text).toContain('kubernetes_healthchecks_total{name="part",status="error",type="readyz"} 1\n')
    expect(text).toContain('kubernetes_healthchecks_total{name="part",status="success",type="readyz"} 1\n')
    expect(text).toMatch(/^process_start_time_seconds \d+/m)
    expect(text).not.toContain("apiserver_")
    expect((await call("GET", "/")).text).toContain('"/metrics/slis"')
  })

  test("publish the keys that verify service account tokens", async () => {
    expect(JSON.parse((await call("GET", "/.well-known/openid-configuration")).text)).toMatchObject({
      issuer: "https://kubernetes.default.svc.cluster.local",
    })
    expect((await call("GET", "/openid/v1/jwks")).headers["content-type"]).toBe("application/jwk-set+json")
  })
})
