import { freePort } from "../../pkg/runtime/free-port.fixtures.ts"
import { describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { generateKeyPairSync } from "node:crypto"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { createHttpsTransport } from "../../pkg/client/https.ts"
import { loadKubeconfig } from "../../pkg/client/kubeconfig.ts"
import { newClient } from "../../pkg/client/new-client.ts"
import type { TokenRequest } from "../../pkg/api/authentication/v1/tokenrequest.ts"
import { ServiceAccount } from "../../pkg/api/core/v1/serviceaccount.ts"
import { ConfigMap } from "../../pkg/api/core/v1/configmap.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import type { Node } from "../../pkg/api/core/v1/node/node.ts"
import { writeTar } from "../../pkg/oci/tar.ts"
import { ownTime } from "../harness/own-time.ts"
import { k3ts, startServer } from "./k3ts.ts"

const CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
const configMap = (name: string, value: string) =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {value: "${value}"}\n`

describe("k3ts server", () => {
  test("takes keys, lives and TLS of a server of k3s by upstream's flags", async () => {
    // given a key of its owner, and what hardening guides say
    const dir = mkdtempSync(join(tmpdir(), "k3ts-sa-"))
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
    const key = join(dir, "sa.key")
    writeFileSync(key, privateKey.export({ type: "pkcs8", format: "pem" }))
    const args = [
      `service-account-signing-key-file=${key}`,
      `service-account-key-file=${key}`,
      "service-account-issuer=https://issuer.example.com",
      "service-account-jwks-uri=https://issuer.example.com/keys",
      "service-account-max-token-expiration=2h",
      "service-account-extend-token-expiration=false",
      "tls-min-version=VersionTLS13",
    ]
    await using server = await startServer({
      flags: [
        ...args.map((arg) => `--kube-apiserver-arg=${arg}`),
        "--kube-controller-manager-arg=terminated-pod-gc-threshold=10",
        "--kubelet-arg=read-only-port=0",
        "--kube-proxy-arg=conntrack-max-per-core=0",
      ],
    })
    rmSync(dir, { recursive: true })
    // then the discovery document has the keys' place, and the keys are of RSA
    const configuration = JSON.parse((await server.get("/.well-known/openid-configuration")).body) as object
    expect(configuration).toMatchObject({
      issuer: "https://issuer.example.com",
      jwks_uri: "https://issuer.example.com/keys",
      id_token_signing_alg_values_supported: ["RS256"],
    })
    // and tokens are signed with the key, and shortened
    const transport = createHttpsTransport({ config: loadKubeconfig(server.kubeconfig), userAgent: "test" })
    try {
      const { status } = await newClient(transport).createSubresource<TokenRequest>(
        ServiceAccount,
        { name: "default", namespace: "default" },
        "token",
        {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenRequest",
          metadata: {},
          spec: { audiences: [], expirationSeconds: 86_400 },
        },
      )
      const [head, claims] = status.token
        .split(".", 2)
        .map((part) => JSON.parse(Buffer.from(part, "base64url").toString()) as Record<string, number>)
      expect([head!["alg"] as unknown, claims!["exp"]! - claims!["iat"]!]).toEqual(["RS256", 7200])
    } finally {
      transport.close()
    }
  })

  test("runs beside another one with its own data directory and port", async () => {
    // given two servers
    await using one = await startServer()
    await using two = await startServer({ flags: ["--service-cidr", "10.53.0.0/16"] })

    // then each has its own cluster, and neither takes the other's token
    expect((await one.get("/api/v1/namespaces/default/services/kubernetes")).body).toContain('"clusterIP":"10.43.0.1"')
    expect((await two.get("/api/v1/namespaces/default/services/kubernetes")).body).toContain('"clusterIP":"10.53.0.1"')
    expect((await one.get("/api/v1/namespaces", two.token)).status).toBe(401)
  })

  test("serves a dual-stack cluster with IPv6 first at addresses of both families", async () => {
    // given
    await using server = await startServer({
      host: "::1",
      flags: [
        ...["--cluster-cidr", "fd42::/56,10.42.0.0/16", "--service-cidr", "fd43::/112,10.43.0.0/16"],
        ...["--advertise-address", "2001:db8::5"],
      ],
    })

    // then its kubeconfig, its certificate and its own Service are of IPv6
    expect(readFileSync(server.kubeconfig, "utf8")).toContain(`server: https://[::1]:${server.port}\n`)
    const transport = createHttpsTransport({ config: loadKubeconfig(server.kubeconfig), userAgent: "test" })
    try {
      const client = newClient(transport)
      const metadata = { name: "kubernetes", namespace: "default" }
      expect((await client.get(Service, metadata)).spec.clusterIPs).toEqual(["fd43::1"])
      const { addressType, endpoints } = await client.get(EndpointSlice, metadata)
      expect([addressType, endpoints?.[0]?.addresses]).toEqual(["IPv6", ["2001:db8::5"]])
      // and Services have both where they ask for it
      const made = await client.create(Service, {
        metadata: { name: "web", namespace: "default" },
        spec: { ports: [{ port: 80 }], ipFamilyPolicy: "PreferDualStack" },
      })
      expect(made.spec.ipFamilies).toEqual(["IPv6", "IPv4"])
    } finally {
      transport.close()
    }
  })

  test("refuses a data directory that another server uses, and names it", async () => {
    // given a server
    await using server = await startServer()

    // when another is started on its directory
    const second = await k3ts([
      "server",
      "--disable-agent",
      "--data-dir",
      server.dataDir,
      "--https-listen-port",
      String(await freePort()),
      "--write-kubeconfig",
      join(server.dataDir, "other.yaml"),
    ])

    // then it ends with one line, and the first goes on
    expect(second).toMatchObject({
      code: 1,
      stderr:
        `k3ts: cannot use ${server.dataDir}: another k3ts server runs on it (pid ${server.pid}); stop that one, ` +
        "or choose another --data-dir\n",
    })
    expect((await server.get("/readyz")).status).toBe(200)
  })

  test("reports the health of each of its components", async () => {
    await using server = await startServer()
    const ready = await server.eventually("/readyz?verbose", (body) => body.includes("[+]deployer"))
    for (const name of [
      "etcd",
      "informer-sync",
      "poststarthook/bootstrap-controller",
      "scheduler",
      "controller-manager",
      "deployer",
      "shutdown",
    ])
      expect(ready).toContain(`[+]${name} ok\n`)
    const { items } = JSON.parse(
      await server.eventually("/api/v1/componentstatuses", (_, status) => status === 200),
    ) as { items: { metadata: { name: string }; conditions: { status: string }[] }[] }
    expect(items.map(({ metadata, conditions }) => [metadata.name, conditions[0]?.status])).toEqual([
      ["controller-manager", "True"],
      ["etcd-0", "True"],
      ["scheduler", "True"],
    ])
  })

  test("shuts down at SIGTERM within five seconds, also with an open watch", async () => {
    // given a server with an open watch
    const server = await startServer()
    const watching = server.get(`${CONFIGMAPS}?watch=true`).catch((err: unknown) => err)
    await server.eventually(
      "/metrics",
      (body) =>
        /apiserver_longrunning_requests\{[^}]*verb="WATCH"[^}]*\} [1-9]/.test(body) ||
        !body.includes("apiserver_longrunning_requests"),
    )

    // when it is told to end
    const time = ownTime(server.pid)
    server.signal("SIGTERM")
    const { code, stderr } = await server.ended

    // then it does
    expect(time.read()).toBeLessThan(5000)
    expect(code).toBe(0)
    expect(stderr).toContain("k3ts has stopped")
    expect(existsSync(join(server.dataDir, "server/k3ts.pid"))).toBe(false)
    await watching
    rmSync(server.dataDir, { recursive: true })
  })

  test("continues from its last state after SIGKILL", async () => {
    // given a server that was killed right after it had acknowledged a write
    const first = await startServer({ keep: true })
    const client = newClient(createHttpsTransport({ config: loadKubeconfig(first.kubeconfig), userAgent: "test" }))
    await client.create(ConfigMap, { metadata: { name: "kept", namespace: "default" }, data: { value: "1" } })
    first.signal("SIGKILL")
    await first.ended

    // when it is started again
    await using second = await startServer({ dataDir: first.dataDir })

    // then the write is there, and so are token and certificates
    expect((await second.get(`${CONFIGMAPS}/kept`, first.token)).status).toBe(200)
    expect(second.token).toBe(first.token)
  })

  test("reports missing requirements before anything starts", async () => {
    // given a port that is taken
    const folder = mkdtempSync(join(tmpdir(), "k3ts-cli-"))
    const holder = createServer()
    const port = await new Promise<number>((resolve) =>
      holder.listen(0, "0.0.0.0", () => resolve((holder.address() as { port: number }).port)),
    )

    // when a server is to listen on it
    const { code, stderr } = await k3ts([
      "server",
      "--disable-agent",
      "--data-dir",
      join(folder, "data"),
      "--https-listen-port",
      String(port),
      "--write-kubeconfig",
      join(folder, "k.yaml"),
    ])

    // then it says so, and has made nothing
    expect(code).toBe(1)
    expect(stderr).toBe(
      `k3ts: this machine lacks what k3ts needs:\n  port ${port}: in use on 0.0.0.0; end the program that has ` +
        `it (ss -ltnp 'sport = :${port}' names it), or choose another --https-listen-port\n`,
    )
    expect(existsSync(join(folder, "data"))).toBe(false)
    holder.close()
    rmSync(folder, { recursive: true })
  })

  test.each<[string, string[], Record<string, string>, string]>([
    ["flag", ["server", "--data-dri", "/x"], {}, "unknown flag --data-dri; did you mean --data-dir?"],
    [
      "value",
      ["server", "--https-listen-port", "x"],
      {},
      'invalid value "x" for --https-listen-port: must be a port, 1 to 65535',
    ],
    [
      "variable",
      ["server"],
      { K3TS_BIND_ADDRESS: "x" },
      'invalid value "x" for K3TS_BIND_ADDRESS: must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
    ["argument", ["server", "x"], {}, 'unexpected argument "x": k3ts server takes none'],
    [
      "pair of ranges",
      ["server", "--cluster-cidr", "10.43.0.0/16"],
      {},
      "--service-cidr 10.43.0.0/16 and --cluster-cidr 10.43.0.0/16 overlap: choose ranges apart from each other",
    ],
    [
      "config file",
      ["server", "--config", "/nonexistent/config.yaml"],
      {},
      "cannot read the config file /nonexistent/config.yaml: there is no such file: write it, or name another one " +
        "(by --config or K3TS_CONFIG)",
    ],
    ["command", ["sever"], {}, "unknown command sever; did you mean k3ts server?"],
    ["subcommand", ["images", "copy"], {}, "unknown command k3ts images copy"],
  ])("an invalid %s gives one line and exit code 2, and nothing is started", async (_, args, env, message) => {
    const folder = mkdtempSync(join(tmpdir(), "k3ts-cli-"))
    const dataDir = join(folder, "data")
    expect(await k3ts(args, { K3TS_DATA_DIR: dataDir, ...env })).toEqual({
      code: 2,
      signal: null,
      stdout: "",
      stderr: `k3ts: ${message}\n`,
    })
    expect(existsSync(dataDir)).toBe(false)
    rmSync(folder, { recursive: true })
  })

  test("says that its history is off with --history-age 0, and lets watches resume all the same", async () => {
    // given an object with two states
    await using server = await startServer({ flags: ["--history-age", "0"] })
    const headers = { "content-type": "application/yaml" }
    await server.send("POST", CONFIGMAPS, configMap("a", "1"), headers)
    await server.send("PUT", `${CONFIGMAPS}/a`, configMap("a", "2"), headers)
    const { metadata } = JSON.parse((await server.get(`${CONFIGMAPS}/a`)).body) as {
      readonly metadata: { readonly resourceVersion: string }
    }
    const before = Number(metadata.resourceVersion) - 1
    // then each request for the past is refused with the reason, after it was authorized
    for (const path of [`/k3ts/at/${before}${CONFIGMAPS}/a`, `/k3ts/history${CONFIGMAPS}/a`, "/k3ts/history"]) {
      const { status, body } = await server.get(path)
      expect({ path, status, body }).toMatchObject({
        path,
        status: 405,
        body: expect.stringContaining("the history is off: this server keeps no earlier states"),
      })
      expect((await server.get(path, "none")).status).toBe(401)
    }
    // and a watch goes on where it was
    const resumed = await server.get(`${CONFIGMAPS}?watch=1&timeoutSeconds=1&resourceVersion=${before}`)
    expect([resumed.status, resumed.body.includes('"value":"2"')]).toEqual([200, true])
  })

  test("reads its flags from a config file, with the file mode for the kubeconfig", async () => {
    const folder = mkdtempSync(join(tmpdir(), "k3ts-cli-"))
    writeFileSync(
      join(folder, "config.yaml"),
      "write-kubeconfig-mode: 0640\ntls-san:\n  - cluster.example.org\nservice-cidr: 10.63.0.0/16\nlog-format: json\n",
    )
    const server = await startServer({ env: { K3TS_CONFIG: join(folder, "config.yaml") } })
    expect(statSync(server.kubeconfig).mode & 0o777).toBe(0o640)
    expect((await server.get("/api/v1/namespaces/default/services/kubernetes")).body).toContain(
      '"clusterIP":"10.63.0.1"',
    )
    server.signal("SIGINT")
    const { code, stderr } = await server.ended
    expect(code).toBe(0)
    for (const line of stderr.trim().split("\n"))
      expect(JSON.parse(line)).toMatchObject({
        ts: expect.any(Number),
        level: expect.any(String),
        msg: expect.any(String),
      })
    rmSync(folder, { recursive: true })
    rmSync(server.dataDir, { recursive: true })
  })

  test("applies the manifests of its folder at the start and on changes, and deletes the objects of a removed file", async () => {
    // given a manifest that is there before the server
    const dataDir = mkdtempSync(join(tmpdir(), "k3ts-cli-"))
    const folder = join(dataDir, "server/manifests")
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, "a.yaml"), configMap("a", "1"))
    await using server = await startServer({ dataDir })
    await server.eventually(`${CONFIGMAPS}/a`, (body, status) => status === 200 && body.includes('"value":"1"'))

    // when it changes and another comes
    writeFileSync(join(folder, "a.yaml"), configMap("a", "2"))
    writeFileSync(join(folder, "b.yml"), configMap("b", "1"))

    // then both are applied
    await server.eventually(`${CONFIGMAPS}/a`, (body) => body.includes('"value":"2"'))
    await server.eventually(`${CONFIGMAPS}/b`, (_, status) => status === 200)

    // and when one is deleted, then what it made goes
    rmSync(join(folder, "b.yml"))
    await server.eventually(`${CONFIGMAPS}/b`, (_, status) => status === 404)
    expect((await server.get(`${CONFIGMAPS}/a`)).status).toBe(200)

    // and a chart is installed and removed as k3s does it, and manifests are Addons
    const chart = { apiVersion: "v2", name: "c", version: "1.0.0" }
    const files = {
      "Chart.yaml": JSON.stringify(chart),
      "templates/c.yaml": configMap("{{ .Release.Name }}", "{{ .Values.x }}"),
    }
    const packed = gzipSync(
      writeTar(
        Object.entries(files).map(([path, text]) => ({ type: "file", path: `c/${path}`, data: Buffer.from(text) })),
      ),
    )
    const helmChart = {
      apiVersion: "helm.cattle.io/v1",
      kind: "HelmChart",
      metadata: { name: "from-chart", namespace: "kube-system" },
      spec: { targetNamespace: "default", chartContent: packed.toString("base64"), set: { x: "from set" } },
    }
    writeFileSync(join(folder, "chart.yaml"), JSON.stringify(helmChart))
    await server.eventually(`${CONFIGMAPS}/from-chart`, (body) => body.includes('"value":"from set"'))
    await server.eventually("/apis/k3s.cattle.io/v1/namespaces/kube-system/addons/chart", (_, status) => status === 200)
    rmSync(join(folder, "chart.yaml"))
    await server.eventually(`${CONFIGMAPS}/from-chart`, (_, status) => status === 404)
  })
})

test("a server's node has the role control-plane, and the configured addresses and number of pods", async () => {
  // given a server with a simulated node
  await using server = await startServer({
    node: true,
    flags: [
      ...["--node-name", "vm", "--node-ip", "192.0.2.7", "--node-external-ip", "203.0.113.7"],
      ...["--kubelet-arg", "max-pods=250"],
    ],
  })

  // then
  const text = await server.eventually("/api/v1/nodes/vm", (body) => body.includes("control-plane"))
  const { metadata, status } = JSON.parse(text) as Node
  expect(metadata.labels?.["node-role.kubernetes.io/control-plane"]).toBe("true")
  expect(status.addresses?.map(({ type, address }) => `${type} ${address}`)).toEqual([
    "InternalIP 192.0.2.7",
    "ExternalIP 203.0.113.7",
    "Hostname vm",
  ])
  expect(status.capacity?.pods).toBe("250")
})

test("a second signal ends the server at once", async () => {
  // given a server that is being stopped
  const server = await startServer()

  // when it is told twice
  server.signal("SIGTERM")
  server.signal("SIGTERM")

  // then it is over, in order or at once, but not later
  const { code } = await server.ended
  expect([0, 143]).toContain(code!)
  rmSync(server.dataDir, { recursive: true })
})
