/** Gateways on ports of the node, with real pods as backends. */
import { freePort } from "../../../pkg/runtime/free-port.fixtures.ts"
import { afterAll, beforeAll, expect, test } from "bun:test"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { Gateway } from "../../../pkg/gateway-api/gateway.ts"
import { GatewayClass } from "../../../pkg/gateway-api/gatewayclass.ts"
import { HTTPRoute } from "../../../pkg/gateway-api/httproute.ts"
import { describeOnNode, startCluster, stay, WEB, type Cluster } from "../../harness/cluster.ts"
import { run } from "../../harness/kubectl.ts"

describeOnNode("Gateways", () => {
  let cluster: Cluster
  let nodeIp: string
  beforeAll(async () => {
    cluster = await startCluster({})
    const command = stay("echo gateway > /www/index.html; httpd -p 80 -h /www")
    const readinessProbe = { tcpSocket: { port: 80 }, periodSeconds: 1 }
    const containers = [{ name: "c", image: WEB, command, readinessProbe }]
    const { status } = await cluster.runPod("web", { containers }, { labels: { app: "web" } })
    nodeIp = status.hostIP!
    await cluster.create(Service, {
      metadata: { name: "web", namespace: "default" },
      spec: { selector: { app: "web" }, ports: [{ name: "http", port: 8080, targetPort: 80 }] },
    })
  }, 60_000)
  afterAll(() => cluster?.[Symbol.asyncDispose]())

  test("are served with their routes by the GatewayClass that k3ts creates", async () => {
    // given
    const isAccepted = ({ status }: GatewayClass) => status?.conditions[0]?.reason === "Accepted"
    await cluster.until(GatewayClass, "k3ts", isAccepted)
    const port = await freePort()

    // when
    await cluster.create(Gateway, {
      metadata: { name: "web", namespace: "default" },
      spec: { gatewayClassName: "k3ts", listeners: [{ name: "http", port, protocol: "HTTP" }] },
    })
    await cluster.create(HTTPRoute, {
      metadata: { name: "web", namespace: "default" },
      spec: {
        parentRefs: [{ name: "web" }],
        hostnames: ["web.example"],
        rules: [{ backendRefs: [{ name: "web", port: 8080 }] }],
      },
    })
    const isProgrammed = ({ status }: Gateway) =>
      (status?.conditions ?? []).some(({ type, status: holds }) => type === "Programmed" && holds === "True")
    const { status } = await cluster.until(Gateway, "web", isProgrammed)
    await cluster.until(HTTPRoute, "web", (route) => (route.status?.parents ?? []).length > 0)

    // then
    expect(status?.addresses).toEqual([{ type: "IPAddress", value: nodeIp }])
    const get = async (host: string) =>
      (await run("curl", ["-s", "-m", "5", "-H", `Host: ${host}`, `http://${nodeIp}:${port}/`])).out
    expect(await get("web.example")).toBe("gateway\n")
    expect(await get("other.example")).toContain("no rule is for this host and path")
  }, 30_000)
})
