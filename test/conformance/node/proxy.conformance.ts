/** The API server's proxies to pods and Services. After test/e2e/network/proxy.go. */
import { expect } from "bun:test"
import { isReady, until, type TestNamespace } from "./namespace.ts"
import { serverCertificate } from "./programs/certificates.ts"
import { program, programVolumes } from "./programs/programs.ts"
import { describeStandIns } from "./stand-in.ts"

const VERBS = ["DELETE", "OPTIONS", "PATCH", "POST", "PUT"]

/** Creates a pod that answers on port 80 with the method of the request, and a Service for it. */
async function runPorter(ns: TestNamespace): Promise<readonly string[]> {
  const labels = { test: "response" }
  await ns.runPod("porter", {
    metadata: { labels },
    volumes: programVolumes,
    containers: [
      {
        ...program("netexec.ts", { SERVE_PORT_80: "foo", JSON_RESPONSE: "yes" }),
        readinessProbe: { httpGet: { path: "/", port: 80 }, periodSeconds: 1 },
      },
    ],
  })
  await ns.create("services", "porter", { spec: { selector: labels, ports: [{ port: 80, targetPort: 80 }] } })
  return [`${ns.path}/pods/porter/proxy`, `${ns.path}/services/porter/proxy`]
}
const untilAnswered = (ns: TestNamespace, method: string, path: string) =>
  until(
    `an answer to ${method} ${path}`,
    () => ns.cluster.send(method, path),
    ({ code, text }) => code === 200 && (method === "HEAD" || text === JSON.stringify({ method, body: "foo" })),
  )

describeStandIns("proxies", (standIn) => {
  standIn(
    "Proxy version v1 A set of valid responses are returned for both pod and service ProxyWithPath",
    async (ns) => {
      for (const proxy of await runPorter(ns))
        for (const verb of [...VERBS, "GET", "HEAD"])
          expect((await untilAnswered(ns, verb, `${proxy}/some/path/with/${verb}`)).code).toBe(200)
    },
  )

  standIn("Proxy version v1 A set of valid responses are returned for both pod and service Proxy", async (ns) => {
    for (const proxy of await runPorter(ns)) {
      for (const verb of VERBS) expect((await untilAnswered(ns, verb, `${proxy}?method=${verb}`)).code).toBe(200)
      for (const verb of ["GET", "HEAD"])
        expect((await ns.cluster.send(verb, `${proxy}?method=${verb}`)).code).toBe(301)
    }
  })

  standIn("Proxy version v1 should proxy through a service and a pod", async (ns) => {
    const link = (path: string) => `<a href="${path}">test</a>`
    // the certificate is self-signed: the proxy does not verify certificates of targets
    const { certPem, keyPem } = serverCertificate("localhost")
    await ns.create("secrets", "tls", {
      type: "kubernetes.io/tls",
      stringData: { "tls.crt": certPem, "tls.key": keyPem },
    })
    const labels = { proxy: "service" }
    const container = {
      ...program("netexec.ts", {
        TLS_CERT: "/tls/tls.crt",
        TLS_KEY: "/tls/tls.key",
        SERVE_PORT_80: link("/rewriteme"),
        SERVE_PORT_1080: link("/rewriteme"),
        SERVE_PORT_160: "foo",
        SERVE_PORT_162: "bar",
        SERVE_TLS_PORT_443: link("/tlsrewriteme"),
        SERVE_TLS_PORT_460: "tls baz",
        SERVE_TLS_PORT_462: "tls qux",
      }),
      ports: [
        { containerPort: 80 },
        { name: "dest1", containerPort: 160 },
        { name: "dest2", containerPort: 162 },
        { name: "tlsdest1", containerPort: 460 },
        { name: "tlsdest2", containerPort: 462 },
      ],
      readinessProbe: { httpGet: { path: "/", port: 80 }, periodSeconds: 1 },
    }
    await ns.create("services", "service", {
      spec: {
        selector: labels,
        ports: [
          { name: "portname1", port: 80, targetPort: "dest1" },
          { name: "portname2", port: 81, targetPort: 162 },
          { name: "tlsportname1", port: 443, targetPort: "tlsdest1" },
          { name: "tlsportname2", port: 444, targetPort: 462 },
        ],
      },
    })
    const { spec } = ns.podOf("", {
      restartPolicy: "Always",
      volumes: [...programVolumes, { name: "tls", secret: { secretName: "tls" } }],
      containers: [
        {
          ...container,
          volumeMounts: [...container.volumeMounts!, { name: "tls", mountPath: "/tls", readOnly: true }],
        },
      ],
    })
    await ns.cluster.post(`${ns.at("apps/v1")}/deployments`, {
      metadata: { name: "service" },
      spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    })
    const [pod] = await ns.cluster.untilList(`${ns.path}/pods?labelSelector=proxy%3Dservice`, (pods) =>
      isReady(pods[0]),
    )
    const ofService = (name: string) => `${ns.path}/services/${name}/proxy`
    const ofPod = (before: string, after: string) => `${ns.path}/pods/${before}${pod!.metadata.name}${after}/proxy`
    const wants: readonly (readonly [path: string, text: string])[] = [
      [ofService("service:portname1"), "foo"],
      [ofService("http:service:portname1"), "foo"],
      [ofService("service:portname2"), "bar"],
      [ofService("http:service:portname2"), "bar"],
      [ofService("https:service:tlsportname1"), "tls baz"],
      [ofService("https:service:tlsportname2"), "tls qux"],
      [ofPod("", ""), link(`${ofPod("", "")}/rewriteme`)],
      [ofPod("", ":1080"), link(`${ofPod("", ":1080")}/rewriteme`)],
      [ofPod("http:", ":1080"), link(`${ofPod("http:", ":1080")}/rewriteme`)],
      [ofPod("", ":160"), "foo"],
      [ofPod("http:", ":160"), "foo"],
      [ofPod("", ":162"), "bar"],
      [ofPod("http:", ":162"), "bar"],
      [ofPod("https:", ":443"), link(`${ofPod("https:", ":443")}/tlsrewriteme`)],
      [ofPod("https:", ":460"), "tls baz"],
      [ofPod("https:", ":462"), "tls qux"],
    ]
    await until(
      "the Service",
      () => ns.cluster.send("GET", `${ofService("service:portname1")}/`),
      ({ text }) => text === "foo",
    )
    // each of them twenty times, all at the same time
    for (let i = 0; i < 20; i++)
      expect(
        await Promise.all(
          wants.map(async ([path]) => {
            const { code, text } = await ns.cluster.send("GET", `${path}/`)
            return [path, code, text]
          }),
        ),
      ).toEqual(wants.map(([path, text]) => [path, 200, text]))
  })
})
