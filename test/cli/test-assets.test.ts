import { freePort } from "../../pkg/runtime/free-port.fixtures.ts"
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { spawn, type ChildProcess } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { get, request } from "node:https"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { createCa, issueCertificate } from "../../pkg/pki/certificate.ts"
import { k3ts } from "./k3ts.ts"

const DAY_MS = 86_400_000
const validity = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) }
const serving = createCa({ commonName: "envtest", validity })
const clients = createCa({ commonName: "envtest clients", validity })
const tokens = createCa({ commonName: "envtest tokens", validity })
const client = (commonName: string, organizations: readonly string[]) =>
  issueCertificate(clients, { subject: { commonName, organizations }, usages: ["client"], validity })
const admin = client("admin", ["system:masters"])

let root: string
let assets: string
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "k3ts-assets-"))
  const made = await k3ts(["test-assets", "make", join(root, "assets")])
  assets = made.stdout.trim()
})
afterAll(() => {
  for (const child of started) child.kill("SIGKILL")
  rmSync(root, { recursive: true, force: true })
})

const started: ChildProcess[] = []

/** Starts a program of the folder, as envtest does: by its path, with nothing but the flags. */
function start(program: string, flags: Readonly<Record<string, string>>): ChildProcess {
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`)
  const child = spawn(join(assets, program), args, { stdio: ["ignore", "ignore", "ignore"] })
  started.push(child)
  return child
}

/** Ends a program as envtest does, and returns its exit code. */
function stop(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => {
    child.once("exit", resolve)
    child.kill("SIGTERM")
  })
}

interface Answer {
  readonly code: number
  readonly body: string
}

/** Sends a request; as nobody unless a certificate is given. */
function ask(port: number, method: string, path: string, body?: object, by?: typeof admin): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, method, path, ca: serving.certPem, agent: false as const }
    const credentials = by === undefined ? {} : { cert: by.certPem, key: by.keyPem }
    const headers = { "content-type": "application/json" }
    const req = request({ ...options, ...credentials, headers }, (res) => {
      let text = ""
      res.on("data", (part: Buffer) => (text += part.toString()))
      res.on("end", () => resolve({ code: res.statusCode ?? 0, body: text }))
    })
    req.on("error", reject)
    req.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

/** Asks for the health without a look at the certificate, as envtest does. */
function healthOf(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path: "/healthz", rejectUnauthorized: false, agent: false as const }
    get(options, (res) => {
      res.resume()
      resolve(res.statusCode ?? 0)
    }).on("error", reject)
  })
}

/** Asks until the answer is 200, as envtest does. */
async function untilHealthy(url: () => Promise<number>): Promise<void> {
  while ((await url().catch(() => 0)) !== 200) await Bun.sleep(10)
}

/** Starts etcd and kube-apiserver with the flags that controller-runtime 0.24 passes. */
async function startPair(more: Readonly<Record<string, string>> = {}) {
  const dir = mkdtempSync(join(root, "pair-"))
  const certDir = join(dir, "certs")
  mkdirSync(certDir)
  const [etcdPort, peerPort, port] = [await freePort(), await freePort(), await freePort()]
  const etcd = start("etcd", {
    "advertise-client-urls": `http://127.0.0.1:${etcdPort}`,
    "data-dir": join(dir, "etcd"),
    "listen-client-urls": `http://127.0.0.1:${etcdPort}`,
    "listen-peer-urls": `http://127.0.0.1:${peerPort}`,
    "unsafe-no-fsync": "true",
  })
  await untilHealthy(async () => (await fetch(`http://127.0.0.1:${etcdPort}/health`)).status)
  const pair = issueCertificate(serving, {
    subject: { commonName: "localhost", organizations: [] },
    dnsNames: ["localhost"],
    ipAddresses: ["127.0.0.1"],
    usages: ["server"],
    validity,
  })
  writeFileSync(join(certDir, "apiserver.crt"), pair.certPem)
  writeFileSync(join(certDir, "apiserver.key"), pair.keyPem)
  writeFileSync(join(certDir, "sa-signer.crt"), tokens.certPem)
  writeFileSync(join(certDir, "sa-signer.key"), tokens.keyPem)
  writeFileSync(join(certDir, "client-cert-auth-ca.crt"), clients.certPem)
  const startServer = async () => {
    const server = start("kube-apiserver", {
      "allow-privileged": "true",
      "authorization-mode": "RBAC",
      "bind-address": "127.0.0.1",
      "cert-dir": certDir,
      "client-ca-file": join(certDir, "client-cert-auth-ca.crt"),
      "disable-admission-plugins": "ServiceAccount",
      "etcd-servers": `http://127.0.0.1:${etcdPort}`,
      "secure-port": String(port),
      "service-account-issuer": `https://127.0.0.1:${port}/`,
      "service-account-key-file": join(certDir, "sa-signer.crt"),
      "service-account-signing-key-file": join(certDir, "sa-signer.key"),
      "service-cluster-ip-range": "10.0.0.0/24",
      ...more,
    })
    await untilHealthy(() => healthOf(port))
    return server
  }
  return { port, etcd, startServer }
}

const PODS = "/api/v1/namespaces/default/pods"
const pod = { metadata: { name: "alone" }, spec: { containers: [{ name: "a", image: "a" }] } }

describe("the folder of test-assets", () => {
  test("has the programs that envtest looks for, and their help names the flags at the start of lines", async () => {
    expect(readFileSync(join(assets, "etcd"), "utf8")).toStartWith("#!/bin/sh\n")
    for (const [program, flag] of [
      ["etcd", "unsafe-no-fsync"],
      ["kube-apiserver", "secure-port"],
    ] as const) {
      const { stdout, exited } = Bun.spawn([join(assets, program), "--help"], { stdout: "pipe" })
      expect(await new Response(stdout).text()).toMatch(new RegExp(`^\\s*--${flag}\\b`, "m"))
      expect(await exited).toBe(0)
    }
    const { stdout } = Bun.spawn([join(assets, "kube-apiserver"), "--help"], { stdout: "pipe" })
    expect(await new Response(stdout).text()).not.toContain("insecure-port")
  })

  test("is made anew over what is there, and leaves other files", async () => {
    // given a program that is a link to one of others
    const others = join(root, "etcd-of-others")
    writeFileSync(others, "theirs")
    rmSync(join(assets, "etcd"))
    symlinkSync(others, join(assets, "etcd"))
    writeFileSync(join(assets, "other"), "mine")
    // when
    expect((await k3ts(["test-assets", "make", assets])).code).toBe(0)
    // then
    expect(readFileSync(join(assets, "other"), "utf8")).toBe("mine")
    expect(readFileSync(others, "utf8")).toBe("theirs")
    expect(readFileSync(join(assets, "etcd"), "utf8")).toStartWith("#!/bin/sh\n")
    expect(statSync(join(assets, "etcd")).mode & 0o777).toBe(0o755)
  })

  test("has the kubectl of the PATH, also where the PATH names its folder from here", async () => {
    const bin = mkdtempSync(join(root, "bin-"))
    writeFileSync(join(bin, "kubectl"), "#!/bin/sh\n", { mode: 0o755 })
    const made = mkdtempSync(join(root, "own-"))
    expect((await k3ts(["test-assets", "make", made], { PATH: relative(process.cwd(), bin) })).code).toBe(0)
    expect(readFileSync(join(made, "kubectl"), "utf8")).toBe("#!/bin/sh\n")
  })
})

describe("etcd and kube-apiserver of the folder", () => {
  test("serve the API to the client certificates of a suite, without controllers, and keep objects over a restart", async () => {
    // given
    const { port, etcd, startServer } = await startPair()
    let server = await startServer()
    // then anonymous may look at the health, and nothing else
    expect((await ask(port, "GET", "/readyz")).code).toBe(200)
    const refused = await ask(port, "GET", PODS)
    expect([refused.code, refused.body]).toEqual([
      403,
      expect.stringContaining('User \\"system:anonymous\\" cannot list resource \\"pods\\"'),
    ])
    // and a certificate of the suite is its user, with that user's rights
    expect((await ask(port, "POST", PODS, pod, admin)).code).toBe(201)
    expect(JSON.parse((await ask(port, "GET", PODS, undefined, client("jane", []))).body)).toMatchObject({
      message: expect.stringContaining('User "jane" cannot list resource "pods"'),
    })
    // and no controller has made what controllers make
    const accounts = await ask(port, "GET", "/api/v1/namespaces/default/serviceaccounts", undefined, admin)
    expect(JSON.parse(accounts.body)).toMatchObject({ items: [] })
    // and tokens have the issuer of the suite
    const account = "/api/v1/namespaces/default/serviceaccounts"
    await ask(port, "POST", account, { metadata: { name: "robot" } }, admin)
    const issued = await ask(port, "POST", `${account}/robot/token`, { spec: {} }, admin)
    const { token } = (JSON.parse(issued.body) as { readonly status: { readonly token: string } }).status
    expect(JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString())).toMatchObject({
      iss: `https://127.0.0.1:${port}/`,
    })
    // when the server is started again beside the same etcd
    expect(await stop(server)).toBe(0)
    server = await startServer()
    // then the objects are there
    expect((await ask(port, "GET", `${PODS}/alone`, undefined, admin)).code).toBe(200)
    expect(await stop(server)).toBe(0)
    expect(await stop(etcd)).toBe(0)
  })

  test("make the server's certificate where the suite gave none", async () => {
    const dir = mkdtempSync(join(root, "certs-"))
    const { etcd, startServer } = await startPair({ "cert-dir": dir })
    // when
    const server = await startServer()
    // then
    expect(readFileSync(join(dir, "apiserver.crt"), "utf8")).toStartWith("-----BEGIN CERTIFICATE-----")
    expect(await stop(server)).toBe(0)
    expect(await stop(etcd)).toBe(0)
  })
})

test.each([
  [["--no-such-flag"], "unknown flag --no-such-flag"],
  [["--secure-prt", "1"], "did you mean --secure-port"],
  [[], "--etcd-servers must be given"],
  [["--etcd-servers", "http://127.0.0.1:1", "--authorization-mode", "AlwaysAllow"], "must be Node or RBAC"],
  [
    ["--etcd-servers", "http://127.0.0.1:1", "--client-ca-file", "/no/such/file"],
    '/no/such/file" for --client-ca-file: ',
  ],
  [["--enable-admission-plugins", "AlwaysPullImage"], "did you mean AlwaysPullImages?"],
  [["--runtime-config", "api/beta=false"], "versions cannot be turned off"],
] as const)("kube-apiserver refuses %j and says why", async (args, message) => {
  const { code, stderr } = await k3ts(["test-assets", "kube-apiserver", ...args])
  expect(stderr).toContain(message)
  expect(code).toBe(2)
})
