/** Ingresses on the ports of the node, with real pods as backends. */
import { freePort } from "../../../pkg/runtime/free-port.fixtures.ts"
import { afterAll, beforeAll, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { Ingress } from "../../../pkg/api/networking/v1/ingress.ts"
import { createCa, issueCertificate } from "../../../pkg/pki/certificate.ts"
import { describeOnNode, startCluster, stay, WEB, type Cluster } from "../../harness/cluster.ts"
import { run } from "../../harness/kubectl.ts"

describeOnNode("Ingresses", () => {
  let cluster: Cluster
  let nodeIp: string
  let ports: readonly [http: number, https: number]
  const validity = { notBefore: new Date(Date.now() - 1000), notAfter: new Date(Date.now() + 86_400_000) }
  const ca = createCa({ commonName: "e2e", validity })
  const isListening = (port: number) =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, nodeIp, () => (socket.destroy(), resolve(true))).on("error", () => resolve(false))
    })
  const curl = async (...args: readonly string[]) => (await run("curl", ["-s", "-m", "5", ...args])).out
  const http = (host: string, path = "/") => curl("-H", `Host: ${host}`, `http://${nodeIp}:${ports[0]}${path}`)

  beforeAll(async () => {
    ports = [await freePort(), await freePort()]
    const flags = ["--ingress-http-port", String(ports[0]), "--ingress-https-port", String(ports[1])]
    cluster = await startCluster({ flags })
    const started = await Promise.all(
      ["a", "b"].map((name) =>
        cluster.runPod(
          name,
          {
            containers: [
              {
                name: "c",
                image: WEB,
                command: stay(`echo ${name} > /www/index.html; httpd -p 80 -h /www`),
                readinessProbe: { tcpSocket: { port: 80 }, periodSeconds: 1 },
              },
            ],
          },
          { labels: { app: "web" } },
        ),
      ),
    )
    nodeIp = started[0]!.status.hostIP!
    await cluster.create(Service, {
      metadata: { name: "web", namespace: "default" },
      spec: { selector: { app: "web" }, ports: [{ name: "http", port: 8080, targetPort: 80 }] },
    })
  }, 60_000)
  afterAll(() => cluster?.[Symbol.asyncDispose]())

  test("are served on the node's ports, also over TLS, as long as there is an Ingress", async () => {
    // given no Ingress
    expect(await Promise.all(ports.map(isListening))).toEqual([false, false])

    // when an Ingress without a class is created
    const { certPem, keyPem } = issueCertificate(ca, {
      subject: { commonName: "web.example", organizations: [] },
      usages: ["server"],
      dnsNames: ["web.example"],
      validity,
    })
    await cluster.create(Secret, {
      metadata: { name: "web", namespace: "default" },
      type: "kubernetes.io/tls",
      stringData: { "tls.crt": certPem, "tls.key": keyPem },
    })
    const backend = { service: { name: "web", port: { name: "http" } } }
    await cluster.create(Ingress, {
      metadata: { name: "web", namespace: "default" },
      spec: {
        tls: [{ hosts: ["web.example"], secretName: "web" }],
        rules: [{ host: "web.example", http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }],
      },
    })
    const isShown = ({ status }: Ingress) => status.loadBalancer.ingress !== undefined
    const { spec, status } = await cluster.until(Ingress, "web", isShown)
    expect([spec.ingressClassName, status.loadBalancer.ingress]).toEqual(["k3ts", [{ ip: nodeIp }]])

    // then both pods answer in turn, and over TLS with the certificate of the Ingress
    const answers = await Promise.all(Array.from({ length: 10 }, () => http("web.example")))
    expect(answers.map((answer) => answer.trim()).sort()).toEqual("aaaaabbbbb".split(""))
    expect(await http("other.example")).toContain("no rule is for this host and path")
    const caFile = join(cluster.server.dataDir, "e2e-ca.pem")
    writeFileSync(caFile, ca.certPem)
    const resolve = [
      "--cacert",
      caFile,
      "--resolve",
      `web.example:${ports[1]}:${nodeIp}`,
      `https://web.example:${ports[1]}/`,
    ]
    const versions = await Promise.all(
      ["--http1.1", "--http2"].map((version) =>
        curl(version, "-o", "/dev/null", "-w", "%{http_version} %{http_code}", ...resolve),
      ),
    )
    expect(versions).toEqual(["1.1 200", "2 200"])

    // when the Ingress is deleted, then nothing listens any more
    await cluster.kubectl.ok("delete ingress web")
    while ((await isListening(ports[0])) || (await isListening(ports[1]))) await Bun.sleep(20)
  }, 60_000)
})
